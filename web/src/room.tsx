// How many more of something there is room for, which of them come where, and which nodes the others would need.
import { signal } from "@preact/signals";
import type { Capacity, NewNodes, Room } from "./api.ts";
import { change, kindInWords, Slider } from "./change.tsx";
import { type Cell, csv, save } from "./csv.ts";
import { names, useAsked } from "./parts.tsx";
import { counted, number, Said, sentence, shown } from "./text.tsx";

const chosen = signal("");
const pasted = signal("");
const deviceClass = signal("");
const devices = signal(1);
/** How many are looked at; null for as many as fit. */
const wanted = signal<number | null>(null);
const isBuying = signal(false);
const PASTED = "pasted";
const CLASS = "class";
/** More than so many the server does not count. */
const MOST = 1_000;

/** What is asked about; null while nothing is chosen. */
function questionOf({ requesting, classes }: Capacity): Record<string, string> | null {
  if (chosen.value === PASTED) return pasted.value.trim() ? { text: pasted.value } : null;
  if (chosen.value === CLASS) {
    const name = deviceClass.value || classes[0]?.deviceClass;
    return name === undefined ? null : { deviceClass: name, count: String(devices.value) };
  }
  const object = requesting[Number(chosen.value)];
  return chosen.value && object ? { ...object } : null;
}

export function RoomFor({ of }: { of: Capacity }) {
  const { requesting, moreRequesting, classes } = of;
  const question = questionOf(of);
  const now = useAsked<Room>("room", question);
  const then = useAsked<Room>("room", question && change.value && { ...question, ...change.value });
  return (
    <section>
      <h2>How many more fit?</h2>
      <form class="controls" onSubmit={(event) => event.preventDefault()}>
        <label>
          Like{" "}
          <select value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
            <option value="">choose</option>
            <option value={PASTED}>what I paste</option>
            {classes.length > 0 && <option value={CLASS}>a claim for devices of a class</option>}
            {requesting.map((each, index) => <option value={String(index)}>{shown(`${each.kind} ${each.namespace}/${each.name}`)}</option>)}
          </select>
        </label>
        {chosen.value === CLASS && (
          <>
            <label>
              Class{" "}
              <select value={deviceClass.value || classes[0]?.deviceClass} onChange={(event) => (deviceClass.value = event.currentTarget.value)}>
                {classes.map((each) => <option value={each.deviceClass!}>{shown(each.deviceClass!)}</option>)}
              </select>
            </label>
            <Slider label="Devices in each" value={devices.value} most={16} set={(value) => (devices.value = value)} />
          </>
        )}
        {moreRequesting > 0 && <span class="quiet small">and {counted(moreRequesting, "other")}, which can be pasted</span>}
      </form>
      {chosen.value === PASTED && (
        <p class="selector">
          <label for="pasted">A claim, template, pod or workload in YAML or JSON</label>
          <textarea id="pasted" rows={8} spellcheck={false} autocomplete="off" value={pasted.value} onInput={(event) => (pasted.value = event.currentTarget.value)} />
        </p>
      )}
      <div role="status">
        {now.error && <p class="error"><Said>{sentence(now.error.message)}</Said></p>}
        {question && !now.error && !now.value && <p class="quiet">Counting…</p>}
        {question && now.value && <p class="cause">{now.value.objectives.map((each, index) => <>{index > 0 && ", "}<b>{each.isAll ? "" : "at least "}{number(each.copies)}</b> <Said>{each.objective}</Said></>)}: more like <Said>{now.value.object}</Said>.</p>}
        {change.value && then.error && <p class="error">After the change: <Said>{sentence(then.error.message)}</Said></p>}
      </div>
      {question && now.value && <Fits of={of} question={question} now={now.value} then={(change.value && then.value) || null} />}
    </section>
  );
}

interface Row {
  objective: Room["objectives"][number];
  isAfter: boolean;
}

/** On which nodes the first ones come, with their numbers. */
function nodesOf({ objective: { order, nodes } }: Row, copies: number): Map<string, number> {
  const found = new Map<string, number>();
  for (const place of order.slice(0, copies)) found.set(nodes[place] ?? "", (found.get(nodes[place] ?? "") ?? 0) + 1);
  return found;
}

const nameOf = ({ objective, isAfter }: Row) => (isAfter ? `${objective.objective}, after the change` : objective.objective);

interface Found {
  of: Capacity;
  question: Record<string, string>;
  now: Room;
  then: Room | null;
}

function Fits({ of, question, now, then }: Found) {
  const rows: Row[] = [
    ...now.objectives.map((objective) => ({ objective, isAfter: false })),
    ...(then?.objectives ?? []).map((objective) => ({ objective, isAfter: true })),
  ];
  const fitting = rows.reduce((most, { objective }) => Math.max(most, objective.copies), 0);
  const most = Math.min(MOST, Math.max(16, 2 * fitting));
  const copies = Math.min(wanted.value ?? Math.max(1, fitting), most);
  const table = (): Cell[][] => [
    ["like", "placed", "fit in all", "wanted", "node", "copies"],
    ...rows.flatMap((row) => [...nodesOf(row, copies)].map(([node, count]) => [now.object, nameOf(row), row.objective.copies, copies, node, count])),
  ];
  return (
    <>
      <Slider label="Of these" value={copies} most={most} set={(value) => (wanted.value = value)} />
      <table class="rows stacked" role="table">
        <caption class="unseen">Where so many come</caption>
        <thead><tr><th scope="col">Placed</th><th scope="col" class="figure">Fit in all</th><th scope="col">{number(copies)} of them</th><th scope="col">On</th></tr></thead>
        <tbody>
          {rows.map((row) => {
            const { objective } = row;
            const nodes = nodesOf(row, copies);
            const on = [...nodes].map(([name, count]) => (count > 1 ? `${name} (${number(count)})` : name));
            return (
              <tr role="row">
                <th scope="row" role="rowheader"><Said>{nameOf(row)}</Said></th>
                <td class="figure" role="cell"><span class="label">Fit in all: </span><b>{objective.isAll ? "" : "at least "}{number(objective.copies)}</b></td>
                <td role="cell">
                  <span class="bar"><span style={{ width: `${(100 * Math.min(copies, objective.copies)) / copies}%` }} /></span>{" "}
                  {copies <= objective.copies ? "fit" : objective.isAll ? <span class="error">{number(copies - objective.copies)} do not fit</span> : "not known of all"}
                  {copies > objective.copies && objective.reason && <p class="quiet small"><Said>{objective.reason}</Said></p>}
                </td>
                <td role="cell"><span class="label">On: </span>{on.length > 0 && <>{counted(on.length, "node")}: {names(on, on.length)}</>}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p><button type="button" onClick={() => save("room.csv", csv(table()))}>Download where they come as CSV</button></p>
      <Buy of={of} question={question} copies={copies} />
    </>
  );
}

/** What a node costs, by its name; told nobody. */
const prices = signal<Record<string, number>>({});
const amount = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

function Buy({ of, question, copies }: { of: Capacity; question: Record<string, string>; copies: number }) {
  const found = useAsked<NewNodes>("new-nodes", isBuying.value ? { ...question, copies: String(copies) } : null, 400);
  return (
    <>
      <p><button type="button" aria-expanded={isBuying.value} onClick={() => (isBuying.value = !isBuying.value)}>What to buy for {number(copies)} of them</button></p>
      {isBuying.value && (
        <div>
          {found.error && <p class="error" role="status"><Said>{sentence(found.error.message)}</Said></p>}
          {!found.error && !found.value && <p class="quiet" role="status">Looking for new nodes…</p>}
          {found.value && <Ways found={found.value} of={of} />}
        </div>
      )}
    </>
  );
}

function Ways({ found, of }: { found: NewNodes; of: Capacity }) {
  const { ways, copies, placedWithout, complete } = found;
  const used = [...new Set(ways.flatMap(({ nodes }) => nodes.map((each) => each.like)))];
  const kindOf = (like: string) => of.nodeKinds.find((each) => each.node === like);
  const words = (like: string) => {
    const kind = kindOf(like);
    return kind ? kindInWords(kind) : like;
  };
  const priceOf = (like: string) => (Object.hasOwn(prices.value, like) ? prices.value[like]! : 0);
  const total = ({ nodes }: NewNodes["ways"][number]) => nodes.reduce((sum, { like, count }) => sum + count * priceOf(like), 0);
  const table = (): Cell[][] => [
    ["way", "like", "nodes", "price of one", "price", "still left"],
    ...ways.flatMap((way, index) => way.nodes.map(({ like, count }) => [index + 1, words(like), count, priceOf(like), count * priceOf(like), way.left])),
  ];
  if (placedWithout === copies) return <p>All of them fit without new nodes.</p>;
  return (
    <>
      <p>{number(placedWithout)} of {number(copies)} fit without new nodes. {!complete && "There was no time to look at all of them."}</p>
      {used.length === 0 && <p>No new nodes like those of the cluster would help.</p>}
      {used.length > 0 && (
        <>
          <form class="controls" onSubmit={(event) => event.preventDefault()}>
            {used.map((like) => (
              <label>
                Price of <Said>{words(like)}</Said>{" "}
                <input type="number" min="0" step="any" value={Object.hasOwn(prices.value, like) ? prices.value[like] : ""} onInput={(event) => (prices.value = { ...prices.value, [like]: event.currentTarget.valueAsNumber || 0 })} />
              </label>
            ))}
            <span class="quiet small">Prices stay in this browser.</span>
          </form>
          <table class="rows stacked" role="table">
            <caption class="unseen">What to buy</caption>
            <thead><tr><th scope="col">New nodes</th><th scope="col" class="figure">Number</th><th scope="col" class="figure">Still left</th><th scope="col" class="figure">Price</th></tr></thead>
            <tbody>
              {ways.map((way) => (
                <tr role="row">
                  <th scope="row" role="rowheader">{way.nodes.length === 0 ? "none that helps" : way.nodes.map(({ like, count }) => <p>{number(count)} × <Said>{words(like)}</Said></p>)}</th>
                  <td class="figure" role="cell"><span class="label">Number: </span>{number(way.total)}</td>
                  <td class="figure" role="cell"><span class="label">Still left: </span>{number(way.left)}</td>
                  <td class="figure" role="cell"><span class="label">Price: </span><b>{amount.format(total(way))}</b></td>
                </tr>
              ))}
            </tbody>
          </table>
          <p><button type="button" onClick={() => save("new-nodes.csv", csv(table()))}>Download what to buy as CSV</button></p>
        </>
      )}
    </>
  );
}
