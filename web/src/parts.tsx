// What several views are made of.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask, changes, type Failure, load, type Loaded, Refused, reload, type Severity } from "./api.ts";
import { counted, hasInvisible, Said, shown } from "./text.tsx";

/** The answer to a question, as far as it is there. */
export function useAnswer<T>(name: string, parameters: Record<string, string> = {}): Loaded<T> {
  void changes.value;
  return load<T>(name, parameters).value;
}

export function Answer<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }) {
  if (of.value !== undefined) return <>{children(of.value)}</>;
  if (of.error === undefined) return <p class="quiet" role="status">Reading…</p>;
  return (
    <div class="box problem" role="alert">
      <p><Said>{of.error.message}</Said></p>
      <button type="button" onClick={reload}>Try again</button>
    </div>
  );
}

/** The answer to what somebody asks as they type or choose: asked anew when the cluster has changed, a moment after the last key. */
export function useAsked<T>(name: string, question: Record<string, string> | null, pause = 200): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({});
  const key = question && JSON.stringify(question);
  const version = changes.value;
  useEffect(() => {
    if (key === null) {
      setLoaded({});
      return undefined;
    }
    const aborted = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setLoaded({ value: await ask<T>(name, JSON.parse(key), aborted.signal) });
      } catch (error) {
        if (aborted.signal.aborted) return;
        if (!(error instanceof Refused)) throw error;
        setLoaded({ error });
      }
    }, pause);
    return () => {
      clearTimeout(timer);
      aborted.abort();
    };
  }, [key, version, name, pause]);
  return loaded;
}

export function useTitle(title: string) {
  useEffect(() => {
    document.title = `${shown(title)} – Claimcheck`;
  }, [title]);
}

/** Code to take along. What has invisible characters, a line break among them, is not for pasting into a terminal. */
export function Copy({ children, label = "Copy" }: { children: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(children);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <span class="copy">
      <code><Said>{children}</Said></code>
      {!hasInvisible(children) && (
        <button type="button" onClick={copy} aria-label={`${label}: ${shown(children)}`}>
          {isCopied ? "Copied" : label}
        </button>
      )}
    </span>
  );
}

const SIGNS: Record<Severity, string> = { error: "✕", warning: "▲", note: "●" };

export function SeverityTag({ severity }: { severity: Severity }) {
  return <span class={`tag ${Object.hasOwn(SIGNS, severity) ? severity : "note"}`}><span aria-hidden="true">{SIGNS[severity]}</span> <Said>{severity}</Said></span>;
}

/** "n1, n2 and 94 others" */
export function names(all: string[], count: number, most = 3): ComponentChildren {
  const first = all.slice(0, most);
  const rest = count - first.length;
  return (
    <>
      {first.map((name, index) => [index > 0 && (rest === 0 && index === first.length - 1 ? " and " : ", "), <Said>{name}</Said>])}
      {rest > 0 && ` and ${counted(rest, "other")}`}
    </>
  );
}

/** The first of many, and a button for the next ones, so that no list is longer than somebody reads. */
export function Some<T>({ of, most, children }: { of: T[]; most: number; children: (each: T) => ComponentChildren }) {
  const [wanted, setWanted] = useState(most);
  const rest = of.length - wanted;
  return (
    <>
      {of.slice(0, wanted).map(children)}
      {rest > 0 && (
        <button type="button" class="more" onClick={() => setWanted(wanted + Math.max(most, 50))}>
          {counted(rest, "other")}
        </button>
      )}
    </>
  );
}

export function Failures({ of }: { of: Failure[] }) {
  if (of.length === 0) return null;
  return (
    <details class="box problem">
      <summary>{counted(of.length, "file")} could not be read</summary>
      <ul>
        <Some of={of} most={50}>{(each) => <li><Said>{each.file}</Said>: <Said>{each.message}</Said></li>}</Some>
      </ul>
    </details>
  );
}

export function Notes({ of }: { of: string[] }) {
  return <>{of.map((note) => <p class="quiet small"><Said>{note}</Said></p>)}</>;
}
