// The selector: an expression of CEL that lights up the kinds of devices that it chooses.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ClusterMap, Kind, Selected } from "./api.ts";
import { Some, useAsked } from "./parts.tsx";
import { counted, number, Said, shown } from "./text.tsx";

const expression = signal("");
/** What the expression chooses; null if there is none, or it is wrong. */
export const selected = signal<Selected | null>(null);

function useSelection() {
  const text = expression.value;
  const { value, error } = useAsked<Selected>("select", text.trim() ? { expression: text } : null);
  useEffect(() => {
    selected.value = error ? { kinds: [], failing: [], error: { message: error.message } } : (value ?? null);
  }, [value, error]);
}

export function Selector({ map }: { map: ClusterMap }) {
  useSelection();
  const found = selected.value;
  return (
    <div class="selector">
      <label for="expression">Selector in CEL</label>
      <textarea
        id="expression"
        rows={Math.min(8, expression.value.split("\n").length)}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        placeholder={example(map.kinds)}
        aria-describedby="selected"
        {...(found?.error && { "aria-invalid": true })}
        value={expression.value}
        onInput={(event) => (expression.value = event.currentTarget.value)}
      />
      <div id="selected" role="status">{!found && <p class="quiet">Lights up the devices that it chooses.</p>}{found && (found.error ? <Wrong error={found.error} /> : <Chosen found={found} map={map} />)}</div>
      <Kinds map={map} />
    </div>
  );
}

/** What there is to choose from. */
function Kinds({ map }: { map: ClusterMap }) {
  const chosen = new Set(selected.value?.error ? [] : selected.value?.kinds);
  return (
    <details>
      <summary>{counted(map.kinds.length, "kind")} of devices, and their attributes</summary>
      <table class="rows">
        <thead><tr><th scope="col">Driver</th><th scope="col" class="figure">Devices</th><th scope="col">Attributes</th></tr></thead>
        <tbody>
          <Some of={[...map.kinds.entries()]} most={20}>
            {([index, { driver, count, attributes }]) => (
              <tr class={chosen.has(index) ? "chosen" : ""}>
                <th scope="row">{chosen.has(index) && "✓ "}<Said>{driver}</Said></th>
                <td class="figure">{number(count)}</td>
                <td class="small">
                  <Some of={Object.entries(attributes)} most={8}>
                    {([name, value]) => <span class="status"><span class="quiet"><Said>{name}</Said></span> <Said>{typeof value === "string" ? value : JSON.stringify(value)}</Said> </span>}
                  </Some>
                </td>
              </tr>
            )}
          </Some>
        </tbody>
      </table>
    </details>
  );
}

function example(kinds: Kind[]): string {
  return `device.driver == ${JSON.stringify(kinds[0]?.driver ?? "gpu.example.com")}`;
}

function Chosen({ found, map }: { found: Selected; map: ClusterMap }) {
  const devices = found.kinds.reduce((sum, kind) => sum + (map.kinds[kind]?.count ?? 0), 0);
  return (
    <>
      <p>Chooses <b>{counted(devices, "device")}</b>: {number(found.kinds.length)} of {counted(map.kinds.length, "kind")}.</p>
      {found.failing.length > 0 && (
        <ul class="error">
          <Some of={found.failing} most={3}>
            {({ kind, error }) => <li>Fails for {counted(map.kinds[kind]?.count ?? 0, "device")} of <Said>{map.kinds[kind]?.driver ?? ""}</Said>: <Said>{error}</Said></li>}
          </Some>
        </ul>
      )}
    </>
  );
}

/** The line with the error, a caret below its place, and what is wrong there. */
function Wrong({ error }: { error: NonNullable<Selected["error"]> }) {
  const { message, line, column, hint } = error;
  const place = line && column ? { line, column } : null;
  const text = place && (expression.value.split("\n")[place.line - 1] ?? "");
  const before = place && text && [...text].slice(0, place.column - 1).join("");
  return (
    <>
      {text && <pre class="caret" aria-hidden="true">{shown(text)}{"\n"}{" ".repeat(shown(before ?? "").length)}^</pre>}
      <p class="error">
        <Said>{message}</Said>{hint && <>; <Said>{hint}</Said></>}
        {place && <span class="quiet"> (line {number(place.line)}, character {number(place.column)})</span>}
      </p>
    </>
  );
}
