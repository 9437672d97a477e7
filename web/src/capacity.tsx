// How much is free: by model and class, alone, as whole nodes and near each other.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Capacity, Refused, type Stock, table } from "./api.ts";
import { Changed, StockName } from "./change.tsx";
import { save } from "./csv.ts";
import { Answer, names, Some, useAnswer, useTitle } from "./parts.tsx";
import { RoomFor } from "./room.tsx";
import { counted, number, Said } from "./text.tsx";

export function CapacityPage() {
  const answer = useAnswer<Capacity>("capacity");
  useTitle("Capacity");
  return <Answer of={answer}>{(capacity) => <Overview of={capacity} />}</Answer>;
}

function Overview({ of }: { of: Capacity }) {
  const { models, classes, unfinished, fragmentation } = of;
  return (
    <>
      <h1>Capacity</h1>
      <p class="quiet">
        Free is what a request without tolerations gets now. Stranded is held by nobody, and such a request does not get it. Partitions count each by
        itself, although they overlap.
      </p>
      <Download />
      <Changed of={of} />
      <RoomFor of={of} />
      <Stocks title="By model" first="Driver and model" of={models} />
      <Stocks title="By class" first="Class" of={classes} />
      {unfinished.length > 0 && <p class="box problem">There was no time to ask the selectors of {names(unfinished, unfinished.length, 10)}.</p>}
      {fragmentation ? <Left of={fragmentation} /> : <p class="box problem">There was no time to find out what is left of partitions.</p>}
    </>
  );
}

function Download() {
  const [problem, setProblem] = useState("");
  const download = async () => {
    try {
      const { text } = await table("capacity.csv");
      save("capacity.csv", text);
      setProblem("");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setProblem(error.message);
    }
  };
  return <p><button type="button" onClick={download}>Download as CSV</button> {problem && <span class="error" role="alert"><Said>{problem}</Said></span>}</p>;
}

/** Which sets of devices near each other there are, in the order of the answer. */
function setsOf(stocks: Stock[]): { by: string; size: number }[] {
  const found = new Map<string, { by: string; size: number }>();
  for (const { near } of stocks)
    for (const { by, sets } of near)
      for (const { size, count } of sets) if (count > 0 || size === 2) found.set(JSON.stringify([by, size]), { by, size });
  return [...found.values()];
}

/** Without the domain, which is that of Kubernetes for all of them. */
const short = (by: string) => by.replace(/^resource\.kubernetes\.io\//, "");

function Stocks({ title, first, of }: { title: string; first: string; of: Stock[] }) {
  if (of.length === 0) return null;
  const sets = setsOf(of);
  const count = ({ near }: Stock, by: string, size: number) => near.find((each) => each.by === by)?.sets.find((each) => each.size === size)?.count ?? 0;
  return (
    <section>
      <h2>{title}</h2>
      <table class="rows stacked" role="table">
        <caption class="unseen">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{first}</th><th scope="col" class="figure">Devices</th><th scope="col" class="figure">Held</th>
            <th scope="col" class="figure">Free</th><th scope="col" class="figure">On free nodes</th>
            {sets.map(({ by, size }) => <th scope="col" class="figure">{number(size)} on a <Said>{short(by)}</Said></th>)}
            <th scope="col">Stranded</th>
          </tr>
        </thead>
        <tbody>
          <Some of={of} most={50}>
            {(stock) => (
              <tr role="row">
                <th scope="row" role="rowheader"><StockName of={stock} /></th>
                <Figure label="Devices">{number(stock.devices)}</Figure>
                <Figure label="Held">{number(stock.held)}</Figure>
                <Figure label="Free"><b>{number(stock.free)}</b></Figure>
                <Figure label="On free nodes">{number(stock.onWholeNodes)}{stock.wholeNodes > 0 && <span class="quiet small"> ({counted(stock.wholeNodes, "node")})</span>}</Figure>
                {sets.map(({ by, size }) => <Figure label={<>{number(size)} on a <Said>{short(by)}</Said></>}>{number(count(stock, by, size))}</Figure>)}
                <td role="cell"><span class="label">Stranded: </span>{stock.stranded.map((each) => <p>{number(each.devices)} <Said>{each.reason}</Said></p>)}</td>
              </tr>
            )}
          </Some>
        </tbody>
      </table>
    </section>
  );
}

function Figure({ label, children }: { label: ComponentChildren; children: ComponentChildren }) {
  return <td class="figure" role="cell"><span class="label">{label}: </span>{children}</td>;
}

function Left({ of: { partitions, shares } }: { of: NonNullable<Capacity["fragmentation"]> }) {
  return (
    <>
      {partitions.length > 0 && (
        <section>
          <h2>Partitions</h2>
          <table class="rows">
            <caption class="unseen">Partitions</caption>
            <thead><tr><th scope="col">Partition</th><th scope="col" class="figure">Room for</th><th scope="col" class="figure">If what is left were together</th><th scope="col" class="figure">In an empty cluster</th></tr></thead>
            <tbody>
              <Some of={partitions} most={50}>
                {(each) => <tr><th scope="row"><Said>{each.partition}</Said> <span class="quiet small"><Said>{each.driver}</Said></span></th><td class="figure"><b>{number(each.placeable)}</b></td><td class="figure">{number(each.sufficientFor)}</td><td class="figure">{number(each.whole)}</td></tr>}
              </Some>
            </tbody>
          </table>
        </section>
      )}
      {shares.length > 0 && (
        <section>
          <h2>Capacity that claims share</h2>
          <table class="rows">
            <caption class="unseen">Capacity that claims share</caption>
            <thead><tr><th scope="col">Capacity</th><th scope="col" class="figure">Free</th><th scope="col" class="figure">Of</th><th scope="col" class="figure">Most in one device</th></tr></thead>
            <tbody>
              <Some of={shares} most={50}>
                {(each) => <tr><th scope="row"><Said>{each.capacity}</Said> <span class="quiet small"><Said>{each.driver}</Said></span></th><td class="figure"><b>{number(each.free)}</b></td><td class="figure">{number(each.total)}</td><td class="figure">{number(each.largestRest)}</td></tr>}
              </Some>
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}
