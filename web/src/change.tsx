// A change that is tried on the figures: objects that are applied, a node that is cordoned, new nodes. Nothing of it is done.
import { computed, signal } from "@preact/signals";
import type { Capacity, ChangedCapacity, NodeKind, Stock } from "./api.ts";
import { names, Some, useAsked } from "./parts.tsx";
import { counted, number, Said, sentence, shown } from "./text.tsx";

const kind = signal<"" | "applied" | "cordon" | "like">("");
const applied = signal("");
const cordoned = signal("");
const like = signal("");
const nodes = signal(1);

/** What is asked about the change; null if there is none. */
export const change = computed<Record<string, string> | null>(() => {
  if (kind.value === "applied") return applied.value.trim() ? { applied: applied.value } : null;
  if (kind.value === "cordon") return cordoned.value.trim() ? { cordon: cordoned.value.trim() } : null;
  if (kind.value === "like") return like.value ? { like: like.value, nodes: String(nodes.value) } : null;
  return null;
});

/** "n1: 8 H100, 2 nic.example.com" */
export function kindInWords({ node, devices }: NodeKind): string {
  return `${node}: ${devices.map((each) => `${number(each.devices)} ${each.model || each.driver}`).join(", ")}`;
}

export function Slider({ label, value, most, set }: { label: string; value: number; most: number; set: (value: number) => void }) {
  return (
    <span class="slider">
      <label>{label} <input type="range" min="1" max={most} value={Math.min(value, most)} onInput={(event) => set(+event.currentTarget.value)} /></label>{" "}
      <output>{number(Math.min(value, most))}</output>
    </span>
  );
}

export function Changed({ of }: { of: Capacity }) {
  const found = useAsked<ChangedCapacity>("changed-capacity", change.value);
  return (
    <section>
      <h2>What if?</h2>
      <form class="controls" onSubmit={(event) => event.preventDefault()}>
        <label>
          Change{" "}
          <select value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value as typeof kind.value)}>
            <option value="">nothing</option>
            <option value="applied">objects that I paste</option>
            <option value="cordon">a node is cordoned</option>
            <option value="like">new nodes</option>
          </select>
        </label>
        {kind.value === "cordon" && <label>Node <input type="search" value={cordoned.value} onInput={(event) => (cordoned.value = event.currentTarget.value)} /></label>}
        {kind.value === "like" && (
          <>
            <label>
              As there are{" "}
              <select value={like.value} onChange={(event) => (like.value = event.currentTarget.value)}>
                <option value="">choose</option>
                {of.nodeKinds.map((each) => <option value={each.node}>{shown(`${kindInWords(each)} (${counted(each.nodes, "node")})`)}</option>)}
              </select>
            </label>
            <Slider label="New nodes" value={nodes.value} most={100} set={(value) => (nodes.value = value)} />
          </>
        )}
      </form>
      {kind.value === "applied" && (
        <p class="selector">
          <label for="applied">ResourceSlicePatches, DeviceTaintRules, DeviceClasses, ResourceSlices and new Nodes in YAML or JSON</label>
          <textarea id="applied" rows={8} spellcheck={false} autocomplete="off" value={applied.value} onInput={(event) => (applied.value = event.currentTarget.value)} />
        </p>
      )}
      <div role="status">
        {found.error && <p class="error"><Said>{sentence(found.error.message)}</Said></p>}
        {change.value && !found.error && !found.value && <p class="quiet">Counting…</p>}
        {change.value && found.value && <Differences now={of} then={found.value} />}
      </div>
    </section>
  );
}

const FIGURES = { devices: "Devices", held: "Held", free: "Free", onWholeNodes: "On free nodes" } as const;
const NONE: Stock = { devices: 0, held: 0, free: 0, wholeNodes: 0, onWholeNodes: 0, near: [], stranded: [] };

/** The stocks of both by what they are of, in the order in which they come. */
function pairs(now: Stock[], then: Stock[]): { now: Stock; then: Stock }[] {
  const key = ({ deviceClass, driver, model }: Stock) => JSON.stringify([deviceClass, driver, model]);
  const found = new Map(now.map((each) => [key(each), { now: each, then: { ...NONE, deviceClass: each.deviceClass, driver: each.driver, model: each.model } as Stock }]));
  for (const each of then) found.set(key(each), { now: found.get(key(each))?.now ?? NONE, then: each });
  return [...found.values()];
}

const stranded = ({ stranded }: Stock) => stranded.map(({ reason, devices }) => `${number(devices)} ${reason}`).join(", ");
const isOther = ({ now, then }: { now: Stock; then: Stock }) =>
  stranded(now) !== stranded(then) || (Object.keys(FIGURES) as (keyof typeof FIGURES)[]).some((name) => now[name] !== then[name]);

function Differences({ now, then }: { now: Capacity; then: ChangedCapacity }) {
  const other = [...pairs(now.models, then.models), ...pairs(now.classes, then.classes)].filter(isOther);
  return (
    <>
      {then.leaving.length > 0 && <p>{counted(then.leaving.length + then.moreLeaving, "pod")} would leave: {names(then.leaving, then.leaving.length + then.moreLeaving)}. What they hold counts as free.</p>}
      {other.length === 0 && <p>No figure would change.</p>}
      {other.length > 0 && (
        <table class="rows stacked" role="table">
          <caption class="unseen">What would change</caption>
          <thead>
            <tr><th scope="col">Model or class</th>{Object.values(FIGURES).map((title) => <th scope="col" class="figure">{title}</th>)}<th scope="col">Stranded</th></tr>
          </thead>
          <tbody>
            <Some of={other} most={50}>
              {({ now, then }) => (
                <tr role="row">
                  <th scope="row" role="rowheader"><StockName of={then} /></th>
                  {(Object.keys(FIGURES) as (keyof typeof FIGURES)[]).map((name) => (
                    <td class="figure" role="cell"><span class="label">{FIGURES[name]}: </span><Became now={number(now[name])} then={number(then[name])} /></td>
                  ))}
                  <td role="cell"><span class="label">Stranded: </span><Became now={stranded(now) || "none"} then={stranded(then) || "none"} /></td>
                </tr>
              )}
            </Some>
          </tbody>
        </table>
      )}
    </>
  );
}

export function StockName({ of }: { of: Stock }) {
  if (of.deviceClass !== undefined) return <Said>{of.deviceClass}</Said>;
  return <><Said>{of.model || "no model"}</Said> <span class="quiet small"><Said>{of.driver ?? ""}</Said></span></>;
}

function Became({ now, then }: { now: string; then: string }) {
  if (now === then) return <span class="quiet"><Said>{then}</Said></span>;
  return <><span class="quiet"><Said>{now}</Said></span> <span role="img" aria-label="then">→</span> <b><Said>{then}</Said></b></>;
}
