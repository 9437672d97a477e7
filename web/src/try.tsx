// A text to try: what the server would answer to it, and whether it would fit in the cluster that is shown. It is kept in the address alone.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, type Explanation, Refused, type Simulated, type TextFinding, type Validated } from "./api.ts";
import type { Editor } from "./editor.ts";
import { pack, unpack } from "./packing.ts";
import { Notes, SeverityTag, Some, useAsked, useTitle } from "./parts.tsx";
import { Explained } from "./pod.tsx";
import { to } from "./routes.ts";
import { SimulatedText } from "./simulated.tsx";
import { Code, counted, Said, sentence, shown } from "./text.tsx";

const MOST_BYTES = 60_000;
const EXAMPLE = `apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: example
  namespace: default
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        count: 1
`;
const text = signal(EXAMPLE);
let packedText: string | null = null;

/** Keeps the text in the address: who has the link has the text, and no server. */
function useAddress(packed: string) {
  useEffect(() => {
    if (packed === "" || packed === packedText) return;
    packedText = packed;
    void unpack(packed, MOST_BYTES).then((found) => (text.value = found));
  }, [packed]);
  const value = text.value;
  useEffect(() => {
    const timer = setTimeout(async () => {
      packedText = await pack(value);
      if (location.hash.startsWith("#/try")) history.replaceState(null, "", to.tried(packedText));
    }, 400);
    return () => clearTimeout(timer);
  }, [value]);
}

export function Try({ packed }: { packed: string }) {
  useTitle("Try");
  useAddress(packed);
  const isEmpty = text.value.trim() === "";
  const isLong = new Blob([text.value]).size > MOST_BYTES;
  const question = isEmpty || isLong ? null : { text: text.value };
  const validated = useAsked<Validated>("validate", question, 300);
  const explained = useAsked<Explanation & { moreObjects: number }>("explain-text", question, 900);
  const [isPlaced, setPlaced] = useState(false);
  const simulated = useAsked<Simulated>("simulate-text", isPlaced ? question : null, 900);
  const editor = useRef<Editor>(null);
  const findings = (question && validated.value?.findings) || [];
  return (
    <>
      <h1>Try</h1>
      <p class="quiet">What kube-apiserver would answer to these objects, and whether they would fit in the cluster that is shown. The text is kept in the address, which can be shared, and nowhere else.</p>
      <Text editor={editor} findings={findings} />
      {isLong && <p class="box problem">The text is longer than can be asked about.</p>}
      <section>
        <h2>Findings</h2>
        <div role="status">
          {validated.error && <p class="error"><Said>{sentence(validated.error.message)}</Said></p>}
          {question && validated.value && <p><Said>{sentence(validated.value.summary)}</Said></p>}
        </div>
        {findings.some((each) => each.fixable && !each.foretold) && <p><Fix finding="">Fix all that can be fixed</Fix></p>}
        <Some of={[...findings.entries()]} most={30}>
          {([index, each]) => <FindingOf of={each} index={index} show={() => editor.current?.show(each.line ?? 1, each.column ?? 1)} />}
        </Some>
        {validated.value && validated.value.moreFindings > 0 && <p class="quiet">and {counted(validated.value.moreFindings, "other")}</p>}
      </section>
      <section>
        <h2>Would it fit?</h2>
        {explained.error && <p class="quiet" role="status"><Said>{sentence(explained.error.message)}</Said></p>}
        {question && explained.value?.objects.map((each) => (
          <article class="card">
            <p class="over"><Said>{`${each.kind} ${each.namespace}/${each.name}`}</Said></p>
            <Explained of={each} level="h3" />
          </article>
        ))}
        {question && explained.value && <Notes of={explained.value.notes} />}
      </section>
      <section>
        <h2>Where would all of it be placed?</h2>
        <p><button type="button" aria-expanded={isPlaced} onClick={() => setPlaced(!isPlaced)}>Simulate</button> <span class="quiet">One pod after the other, in the cluster that is shown.</span></p>
        {isPlaced && simulated.error && <p class="quiet" role="status"><Said>{sentence(simulated.error.message)}</Said></p>}
        {isPlaced && question && !simulated.error && !simulated.value && <p class="quiet" role="status">Placing…</p>}
        {isPlaced && question && simulated.value && <SimulatedText of={simulated.value} />}
      </section>
    </>
  );
}

function FindingOf({ of, index, show }: { of: TextFinding; index: number; show: () => void }) {
  return (
    <article class="card">
      <p class="over">
        <SeverityTag severity={of.severity} />{" "}
        {of.line !== undefined && <button type="button" class="more" onClick={show}>line {of.line}</button>}{" "}
        <span class="quiet"><Said>{of.object}</Said> <Said>{of.rule}</Said>{of.foretold && ", once the others are fixed"}</span>
      </p>
      <p class="cause"><Said>{of.field ? `${of.field}: ${of.message}` : of.message}</Said></p>
      {of.hint && <p class="remedy"><Code>{of.hint}</Code></p>}
      {of.fixable && <p><Fix finding={String(index)}>Fix it</Fix></p>}
    </article>
  );
}

function Fix({ finding, children }: { finding: string; children: string }) {
  const [problem, setProblem] = useState("");
  const fix = async () => {
    try {
      const fixed = await ask<{ text: string }>("fix", { text: text.value, finding }, new AbortController().signal);
      text.value = fixed.text;
      setProblem("");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setProblem(error.message);
    }
  };
  return <><button type="button" onClick={fix}>{children}</button> {problem && <span class="error" role="alert"><Said>{problem}</Said></span>}</>;
}

/** The editor once it is there; until then, or if it cannot be loaded, a plain field. */
function Text({ editor, findings }: { editor: { current: Editor | null }; findings: TextFinding[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [isLoaded, setLoaded] = useState(false);
  useEffect(() => {
    let isGone = false;
    const load = async () => {
      const { mount } = await import("./editor.ts");
      if (isGone || box.current === null) return;
      const root = box.current.shadowRoot ?? box.current.attachShadow({ mode: "open" });
      editor.current = mount(root, text.value, "Objects in YAML or JSON", (value) => (text.value = value));
      setLoaded(true);
    };
    load().catch(() => {}); // the plain field stays
    return () => {
      isGone = true;
      editor.current?.destroy();
      editor.current = null;
    };
  }, []);
  const value = text.value;
  useEffect(() => editor.current?.setText(value), [value, isLoaded]);
  useEffect(() => {
    const placed = findings.filter((each) => each.line !== undefined);
    editor.current?.setRemarks(placed.map((each) => ({ line: each.line!, column: each.column ?? 1, width: each.width, severity: each.severity, text: shown(each.message) })));
  }, [findings, isLoaded]);
  const drop = async (event: DragEvent) => {
    const [file] = event.dataTransfer?.files ?? [];
    if (file === undefined) return;
    event.preventDefault();
    text.value = file.size > MOST_BYTES ? `# ${shown(file.name)} is longer than can be asked about\n` : await file.text();
  };
  return (
    <div class="editor" onDrop={drop} onDragOver={(event) => event.preventDefault()}>
      {!isLoaded && <textarea aria-label="Objects in YAML or JSON" rows={14} spellcheck={false} value={value} onInput={(event) => (text.value = event.currentTarget.value)} />}
      <div ref={box} />
    </div>
  );
}
