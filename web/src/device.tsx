// A device: who holds it, what it has, and who says so.
import type { ComponentChildren } from "preact";
import type { Device, Given, Giver } from "./api.ts";
import { Fills } from "./fill.tsx";
import { Answer, useAnswer, useTitle } from "./parts.tsx";
import { to } from "./routes.ts";
import { Mark } from "./status.tsx";
import { Code, counted, Said } from "./text.tsx";

export function DevicePage({ driver, pool, name }: { driver: string; pool: string; name: string }) {
  const answer = useAnswer<Device>("device", { driver, pool, device: name });
  useTitle(`Device ${name}`);
  const node = answer.value?.nodeName;
  return (
    <>
      <p class="over">
        <a href={to.devices}>Devices</a> <span aria-hidden="true">›</span> {node && <><a href={to.node(node)}><Said>{node}</Said></a> <span aria-hidden="true">›</span> </>}Device
      </p>
      <h1><Said>{name}</Said></h1>
      <Answer of={answer}>{(device) => <Facts of={device} />}</Answer>
    </>
  );
}

const ABOUT_VALUES = ["from", "hides", "hidesMore", "left"];
const SHOWN = new Set([
  "driver", "pool", "device", "resourceSlice", "generation", "status", "problem", "nodeName", "nodeClosed", "attributes",
  "moreAttributes", "fills", "capacity", "moreCapacity", "counters", "taints", "moreTaints", "claims",
]);

/** The value, without who gives it. */
export function valueOf(given: Given): string {
  const [[type, value] = ["", ""]] = Object.entries(given).filter(([key]) => !ABOUT_VALUES.includes(key));
  if (type === "null") return "removed";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function typeOf(given: Given): string {
  return Object.keys(given).find((key) => !ABOUT_VALUES.includes(key)) ?? "";
}

/** How much of its fullest capacity is in use. */
export const usedOf = ({ fills }: Device) => (fills.length > 0 ? Math.max(...fills.map(({ used }) => used ?? 0)) : null);

function Facts({ of }: { of: Device }) {
  const rest = Object.fromEntries(Object.entries(of).filter(([key]) => !SHOWN.has(key)));
  return (
    <>
      <p class="state"><Mark status={of.status} used={usedOf(of)} tainted={of.taints.length > 0} /> <b><Said>{of.status}</Said></b>{of.problem && <>: <Said>{of.problem}</Said></>}</p>
      <dl class="facts">
        <Fact name="Driver">{of.driver}</Fact>
        <Fact name="Pool">{of.pool}</Fact>
        <Fact name="ResourceSlice">{`${of.resourceSlice}, generation ${of.generation}`}</Fact>
        {of.nodeName && <Fact name="Node">{of.nodeName}</Fact>}
        {of.nodeClosed && <Fact name="Closed to pods without tolerations">{of.nodeClosed}</Fact>}
      </dl>
      <Rows title="Who holds it" columns={["Claim", "Request", "Pods"]} of={of.claims}>
        {(claim) => (
          <>
            <th scope="row"><Said>{`${claim.namespace}/${claim.name}`}</Said></th>
            <td><Said>{claim.request}</Said></td>
            <td>{[...claim.pods, ...claim.others].map((each) => <p><Said>{each}</Said></p>)}</td>
          </>
        )}
      </Rows>
      <Rows title="Taints" columns={["Taint", "From"]} of={of.taints} more={of.moreTaints}>
        {(taint) => (
          <>
            <th scope="row"><Said>{`${String(taint.key)}${taint.value ? `=${String(taint.value)}` : ""}:${String(taint.effect)}`}</Said></th>
            <td><From of={taint.from} /></td>
          </>
        )}
      </Rows>
      <Rows title="Attributes" columns={["Attribute", "Value", "From"]} of={Object.entries(of.attributes)} more={of.moreAttributes}>
        {([name, given]) => (
          <>
            <th scope="row"><Said>{name}</Said></th>
            <td><Said>{valueOf(given)}</Said> <span class="quiet small">{typeOf(given) !== "string" && typeOf(given)}</span><Hidden by={given} /></td>
            <td><From of={given.from} /></td>
          </>
        )}
      </Rows>
      <Fills of={of.fills} />
      <Rows title="Capacity" columns={["Capacity", "Value", "Left", "From"]} of={Object.entries(of.capacity)} more={of.moreCapacity}>
        {([name, given]) => (
          <>
            <th scope="row"><Said>{name}</Said>{given.requestPolicy ? <p class="small"><Code>{JSON.stringify(given.requestPolicy)}</Code></p> : null}</th>
            <td><Said>{String(given.value)}</Said><Hidden by={given} /></td>
            <td>{given.left && <Said>{given.left}</Said>}</td>
            <td><From of={given.from} /></td>
          </>
        )}
      </Rows>
      <Rows title="Counters" columns={["Counter", "Takes", "Left", "Of"]} of={of.counters}>
        {(each) => (
          <>
            <th scope="row"><Said>{each.counterSet}</Said> <Said>{each.counter}</Said></th>
            <td><Said>{each.takes}</Said></td>
            <td><Said>{each.left ?? "?"}</Said></td>
            <td><Said>{each.total ?? "?"}</Said></td>
          </>
        )}
      </Rows>
      {Object.keys(rest).length > 0 && (
        <details><summary>All else that is known</summary><pre><Code>{JSON.stringify(rest, null, 2)}</Code></pre></details>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: string }) {
  return <div><dt>{name}</dt><dd>{name === "Node" ? <a href={to.node(children)}><Said>{children}</Said></a> : <Said>{children}</Said>}</dd></div>;
}

interface RowsOf<T> {
  title: string;
  columns: string[];
  of: T[];
  more?: number | undefined;
  children: (each: T) => ComponentChildren;
}

function Rows<T>({ title, columns, of, more, children }: RowsOf<T>) {
  if (of.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <table class="rows">
        <caption class="unseen">{title}</caption>
        <thead><tr>{columns.map((name) => <th scope="col">{name}</th>)}</tr></thead>
        <tbody>{of.map((each) => <tr>{children(each)}</tr>)}</tbody>
      </table>
      {more ? <p class="quiet">and {counted(more, "other")}</p> : null}
    </section>
  );
}

function From({ of }: { of: Giver }) {
  return <span class="small"><span class="quiet"><Said>{of.kind}</Said></span> <Said>{of.name}</Said></span>;
}

/** What the value stands in place of. */
function Hidden({ by }: { by: Given }) {
  if (!by.hides) return null;
  return (
    <>
      {by.hides.map((each) => <p class="quiet small">instead of <Said>{valueOf(each)}</Said> from <From of={each.from} /></p>)}
      {by.hidesMore ? <p class="quiet small">and {counted(by.hidesMore, "other")}</p> : null}
    </>
  );
}
