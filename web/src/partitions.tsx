// Devices that are parts of the same: laid out as tiles by the counters that they take, chosen to see which others they exclude, and in pairs.
import { useState } from "preact/hooks";
import type { Beside, CounterSet, Pairs, Partition, Partitioned } from "./api.ts";
import { Answer, names, Some, useAnswer, useAsked } from "./parts.tsx";
import { to } from "./routes.ts";
import { toneOf } from "./status.tsx";
import { counted, number, Said, shown } from "./text.tsx";

interface Place {
  partition: Partition;
  from: number;
  width: number;
}

/** Counters of which each device takes all or nothing, as those of parts of a chip: each is a column. */
function columnsOf({ counters, partitions }: CounterSet): string[] {
  const isWhole = (name: string) => partitions.every(({ shares }) => [0, 1].includes(shares[name] ?? 0));
  const isTakenBySome = (name: string) => partitions.some(({ shares }) => (shares[name] ?? 0) === 0);
  return counters.map(({ name }) => name).filter((name) => isWhole(name) && isTakenBySome(name));
}

/** Where a device begins and how wide it is, from 0 to 1: by its columns, or else as wide as the largest share of a counter. */
function placesOf(set: CounterSet): Place[] {
  const columns = columnsOf(set);
  return set.partitions.map((partition) => {
    const taken = columns.flatMap((name, index) => ((partition.shares[name] ?? 0) > 0 ? [index] : []));
    if (taken.length > 0) return { partition, from: taken[0]! / columns.length, width: (taken.at(-1)! - taken[0]! + 1) / columns.length };
    return { partition, from: -1, width: Math.max(0, ...Object.values(partition.shares)) };
  });
}

const NARROWEST = 0.04;
const ROUNDING = 1e-9;

/** Rows in which no tile covers another, the widest first. */
function rowsOf(set: CounterSet): Place[][] {
  const rows: Place[][] = [];
  const all = placesOf(set).toSorted((one, other) => other.width - one.width);
  for (const place of all) {
    const width = Math.max(place.width, NARROWEST);
    const from = (row: Place[]) => (place.from >= 0 ? place.from : row.reduce((end, each) => Math.max(end, each.from + each.width), 0));
    const fits = (row: Place[]) =>
      from(row) + width <= 1 + ROUNDING && row.every((each) => each.from + each.width <= from(row) + ROUNDING || from(row) + width <= each.from + ROUNDING);
    let row = rows.find(fits);
    if (row === undefined) rows.push((row = []));
    row.push({ ...place, from: from(row), width });
  }
  return rows;
}

interface Choice {
  chosen: Set<string>;
  refused: Map<string, string>;
  toggle: (device: string) => void;
}

interface Shown {
  driver: string;
  pool: string;
  set: CounterSet;
  /** without it, tiles lead to their devices */
  choice?: Choice;
}

export function Tiles({ driver, pool, set, choice }: Shown) {
  return (
    <figure class="parts">
      <figcaption>
        <b><Said>{set.name}</Said></b>{" "}
        <span class="quiet small">{names(set.counters.map(({ name, total }) => `${name} ${total}`), set.counters.length, 4)}</span>
      </figcaption>
      {rowsOf(set).map((row) => (
        <div class="row">
          {row.map((place) => <Tile driver={driver} pool={pool} place={place} {...(choice && { choice })} />)}
        </div>
      ))}
      {set.morePartitions > 0 && <p class="quiet small">and {counted(set.morePartitions, "other")}</p>}
    </figure>
  );
}

function Tile({ driver, pool, place: { partition, from, width }, choice }: { driver: string; pool: string; place: Place; choice?: Choice }) {
  const { device, status, tainted, groups } = partition;
  const style = { left: `${100 * from}%`, width: `${100 * width}%` };
  const why = choice?.refused.get(device);
  const about = [status, tainted ? "tainted" : "", groups.length > 0 ? `groups ${groups.join(", ")}` : "", why ?? ""].filter(Boolean).join("; ");
  const inside = <span class="of"><Said>{device}</Said></span>;
  const title = shown(`${device}: ${about}`);
  if (choice === undefined) return <a class={`part ${toneOf(status)}`} style={style} title={title} aria-label={title} href={to.device(driver, pool, device)}>{inside}</a>;
  const isChosen = choice.chosen.has(device);
  return (
    <button
      type="button"
      class={`part ${toneOf(status)} ${why === undefined ? "" : "off"}`}
      style={style}
      title={title}
      aria-label={title}
      aria-pressed={isChosen}
      {...(why !== undefined && !isChosen && { "aria-disabled": true })}
      onClick={() => (why === undefined || isChosen) && choice.toggle(device)}
    >
      {inside}
    </button>
  );
}

export function Partitions({ driver, pool }: { driver: string; pool: string }) {
  const answer = useAnswer<Partitioned>("partitions", { driver, pool });
  if (answer.error?.status === 404) return null; // there is no such pool any more, or nobody can use it
  return <Answer of={answer}>{(found) => (found.counterSets.length > 0 ? <Chosen of={found} /> : null)}</Answer>;
}

/** The parts of the devices of a pool, each of which leads to its page. */
export function PoolTiles({ driver, pool }: { driver: string; pool: string }) {
  const found = useAnswer<Partitioned>("partitions", { driver, pool }).value;
  if (found === undefined || found.counterSets.length === 0) return null;
  return (
    <section>
      <h2>Partitions of <a href={to.pool(driver, pool)}><Said>{pool}</Said></a></h2>
      <Some of={found.counterSets} most={8}>{(set) => <Tiles driver={driver} pool={pool} set={set} />}</Some>
    </section>
  );
}

function Chosen({ of }: { of: Partitioned }) {
  const { driver, pool, counterSets } = of;
  const [chosen, setChosen] = useState(new Set<string>());
  const devices = [...new Set(counterSets.flatMap(({ partitions }) => partitions.map(({ device }) => device)))];
  const inUse = new Set(counterSets.flatMap(({ partitions }) => partitions.filter(({ status }) => status === "allocated" || status === "shared").map(({ device }) => device)));
  const still = [...chosen].filter((each) => devices.includes(each));
  const found = useAsked<Beside>("beside", still.length > 0 ? { driver, pool, devices: still.join(" ") } : null, 50);
  const refused = still.length > 0 ? (found.value?.refused ?? []) : [];
  const choice: Choice = {
    chosen,
    refused: new Map(refused.map((each) => [each.device, each.reason])),
    toggle: (device) => setChosen((before) => (before.has(device) ? new Set([...before].filter((each) => each !== device)) : new Set([...before, device]))),
  };
  return (
    <>
      <section>
        <h2>Partitions</h2>
        <p class="quiet">Choose devices to see which others cannot be in use then, as if nothing else were.</p>
        <p class="controls">
          {inUse.size > 0 && <button type="button" onClick={() => setChosen(inUse)}>Choose those in use</button>}
          <button type="button" disabled={chosen.size === 0} onClick={() => setChosen(new Set())}>Choose none</button>
        </p>
        <Some of={counterSets} most={8}>{(set) => <Tiles driver={driver} pool={pool} set={set} choice={choice} />}</Some>
        {of.moreCounterSets > 0 && <p class="quiet">and {counted(of.moreCounterSets, "other counter set")}</p>}
        <div role="status">
          {found.error && <p class="error"><Said>{found.error.message}</Said></p>}
          {still.length > 0 && found.value && <p>With {names(still, still.length)} in use, {refused.length === 0 ? "all others can be used as well." : `${counted(refused.length + found.value.moreRefused, "other")} cannot be used:`}</p>}
        </div>
        {refused.length > 0 && <ul><Some of={refused} most={8}>{({ device, reason }) => <li><Said>{device}</Said>: <span class="quiet"><Said>{reason}</Said></span></li>}</Some></ul>}
      </section>
      {of.pairs.length > 0 && (
        <section>
          <h2>Which two can be in use together</h2>
          {of.pairs.map((pairs) => <Matrix of={pairs} />)}
          {of.unfinished && <p class="box problem">There was no time to look at all of them.</p>}
        </section>
      )}
    </>
  );
}

function Matrix({ of: { counterSets, moreCounterSets, devices, refused, moreDevices } }: { of: Pairs }) {
  const why = new Map(refused.map(({ first, second, reason }) => [first * devices.length + second, reason]));
  const title = <>{names(counterSets, counterSets.length + moreCounterSets)}{moreDevices > 0 && ` (of ${counted(moreDevices, "other device")} it is not told)`}</>;
  if (refused.length === 0) return <p>{title}: any two of {counted(devices.length, "device")} can.</p>;
  return (
    <>
      <div class="scrolled" tabIndex={0} role="region" aria-label={shown(`Pairs of ${counterSets[0] ?? ""}`)}>
        <table class="pairs">
          <caption>{title}</caption>
          <thead><tr><th scope="col">Device</th>{devices.slice(0, -1).map((name, index) => <th scope="col"><abbr title={shown(name)}>{number(index + 1)}</abbr></th>)}</tr></thead>
          <tbody>
            {devices.map((name, second) => (
              <tr>
                <th scope="row">{number(second + 1)} <Said>{name}</Said></th>
                {devices.slice(0, second).map((_, first) => {
                  const reason = why.get(first * devices.length + second);
                  return <td class={reason === undefined ? "sound" : "error"} {...(reason !== undefined && { title: shown(reason) })}>{reason === undefined ? <span role="img" aria-label="yes">✓</span> : <span role="img" aria-label="no">✕</span>}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <details>
        <summary>Why {counted(refused.length, "pair")} cannot</summary>
        <ul><Some of={refused} most={50}>{({ first, second, reason }) => <li><Said>{devices[first] ?? ""}</Said> and <Said>{devices[second] ?? ""}</Said>: <span class="quiet"><Said>{reason}</Said></span></li>}</Some></ul>
      </details>
    </>
  );
}
