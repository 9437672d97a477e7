// All devices of the cluster, as a map or as a table.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { ClusterMap, Status } from "./api.ts";
import { DeviceMap, type Lit, type Tile } from "./map.tsx";
import { Answer, Some, useAnswer, useTitle } from "./parts.tsx";
import { to } from "./routes.ts";
import { selected, Selector } from "./selector.tsx";
import { LOOKS, Mark } from "./status.tsx";
import { counted, number, Said, shown } from "./text.tsx";

const isTable = signal(false);
const driver = signal("");
const wanted = signal("");
/** The attribute by whose values the devices of each node are apart; empty for none. */
const by = signal("");

export function Devices() {
  const answer = useAnswer<ClusterMap>("map");
  useTitle("Devices");
  return <Answer of={answer}>{(map) => <Overview map={map} />}</Answer>;
}

function Overview({ map }: { map: ClusterMap }) {
  const drivers = map.kinds.map((kind) => kind.driver);
  const tiles = chosenTiles(map, drivers).flatMap((tile) => apart(tile, map));
  const kinds = selected.value && !selected.value.error ? new Set(selected.value.kinds) : null;
  const lit: Lit = { drivers, isLit: (device) => kinds === null || kinds.has(device.kind) };
  return (
    <>
      <h1>Devices</h1>
      <Selector map={map} />
      <form class="controls" onSubmit={(event) => event.preventDefault()}>
        <label>
          Driver{" "}
          <select value={driver.value} onChange={(event) => (driver.value = event.currentTarget.value)}>
            <option value="">all</option>
            {[...new Set(drivers)].toSorted().map((name) => <option value={name}>{shown(name)}</option>)}
          </select>
        </label>
        <label>
          Apart by{" "}
          <select value={by.value} onChange={(event) => (by.value = event.currentTarget.value)}>
            <option value="">nothing</option>
            {attributesOf(map).map((name) => <option value={name}>{shown(name)}</option>)}
          </select>
        </label>
        <label>Node <input type="search" value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} /></label>
        <div class="switch" role="group" aria-label="View">
          <button type="button" aria-pressed={!isTable.value} onClick={() => (isTable.value = false)}>Map</button>
          <button type="button" aria-pressed={isTable.value} onClick={() => (isTable.value = true)}>Table</button>
        </div>
      </form>
      <Legend tiles={tiles} />
      {tiles.length === 0 && <p class="quiet">There are no such devices.</p>}
      {isTable.value ? <Table key={driver.value + wanted.value + by.value} tiles={tiles} lit={lit} /> : <DeviceMap tiles={tiles} lit={lit} />}
    </>
  );
}

/** What is asked for by driver and name. */
function chosenTiles(map: ClusterMap, drivers: string[]): Tile[] {
  const named = wanted.value.trim();
  const all: Tile[] = [
    ...map.groups.map((group) => ({ ...group, isElsewhere: false })),
    ...map.elsewhere.map((group) => ({ ...group, isElsewhere: true })),
  ];
  return all
    .map((tile) => (driver.value ? { ...tile, devices: tile.devices.filter((each) => drivers[each.kind] === driver.value) } : tile))
    .map((tile) => (named ? { ...tile, names: tile.names.filter((name) => name.includes(named)) } : tile))
    .map((tile) => (named ? { ...tile, count: tile.names.length } : tile))
    .filter((tile) => tile.devices.length > 0 && tile.names.length > 0);
}

const MOST_ATTRIBUTES = 200;
/** By these one looks for devices that are near each other. */
const PLACES = ["resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode", "numaNode"];

/** What the devices have attributes of, places first. */
function attributesOf({ kinds }: ClusterMap): string[] {
  const names = new Set(kinds.flatMap(({ attributes }) => Object.keys(attributes)));
  const rank = (name: string) => (PLACES.includes(name) ? PLACES.indexOf(name) : PLACES.length);
  return [...names].toSorted((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1)).slice(0, MOST_ATTRIBUTES);
}

/** A tile for each value of the attribute that devices of a tile have. */
function apart(tile: Tile, { kinds }: ClusterMap): Tile[] {
  if (by.value === "") return [tile];
  const parts = new Map<string, Tile["devices"]>();
  for (const device of tile.devices) {
    const attributes = kinds[device.kind]?.attributes ?? {};
    const value = Object.hasOwn(attributes, by.value) ? attributes[by.value] : undefined;
    const part = value === undefined ? "without it" : typeof value === "string" ? value : JSON.stringify(value);
    const known = parts.get(part);
    if (known) known.push(device);
    else parts.set(part, [device]);
  }
  return [...parts].toSorted(([one], [other]) => one.localeCompare(other, "en", { numeric: true })).map(([part, devices]) => ({ ...tile, devices, part }));
}

function statuses(tile: Tile): Map<Status, number> {
  const counts = new Map<Status, number>();
  for (const { status } of tile.devices) counts.set(status, (counts.get(status) ?? 0) + tile.count);
  return counts;
}

function Legend({ tiles }: { tiles: Tile[] }) {
  const counts = new Map<Status, number>();
  let tainted = 0;
  for (const tile of tiles) {
    for (const [status, count] of statuses(tile)) counts.set(status, (counts.get(status) ?? 0) + count);
    tainted += tile.count * tile.devices.filter((each) => each.tainted).length;
  }
  const known = Object.keys(LOOKS) as Status[];
  return (
    <ul class="legend plain">
      {known.filter((status) => counts.has(status)).map((status) => (
        <li><Mark status={status} /> {LOOKS[status].meaning} <b>{number(counts.get(status)!)}</b></li>
      ))}
      {tainted > 0 && <li><Mark status="free" tainted /> tainted <b>{number(tainted)}</b></li>}
    </ul>
  );
}

const ON_PAGE = 100;

function Table({ tiles, lit }: { tiles: Tile[]; lit: Lit }) {
  const [page, setPage] = useState(0);
  const chosen = tiles.filter((tile) => tile.devices.some(lit.isLit));
  const pages = Math.max(1, Math.ceil(chosen.length / ON_PAGE));
  const at = Math.min(page, pages - 1);
  const rows = chosen.slice(at * ON_PAGE, (at + 1) * ON_PAGE);
  return (
    <>
      <table class="rows">
        <caption class="unseen">Devices by node; equal nodes are one row</caption>
        <thead><tr><th scope="col">Nodes</th><th scope="col" class="figure">Devices</th><th scope="col">Of these</th></tr></thead>
        <tbody>
          {rows.map((tile) => (
            <tr>
              <th scope="row">
                <Some of={tile.names} most={2}>
                  {(name) => (tile.isElsewhere ? <span>pool <Said>{name}</Said> </span> : <><a href={to.node(name)}><Said>{name}</Said></a> </>)}
                </Some>
                {tile.part !== undefined && <span class="quiet"><Said>{tile.part}</Said></span>}
                {tile.count > tile.names.length && ` and ${counted(tile.count - tile.names.length, "more")}`}
                {tile.closed && <p class="quiet small">closed: <Said>{tile.closed}</Said></p>}
              </th>
              <td class="figure">{number(tile.count * tile.devices.length)}</td>
              <td>
                {tile.isElsewhere
                  ? <Some of={tile.devices} most={5}>{(device) => <><a href={to.device(lit.drivers[device.kind] ?? "", tile.names[0] ?? "", device.name)}><Said>{device.name}</Said></a> <Said>{device.status}</Said> </>}</Some>
                  : [...statuses(tile)].map(([status, count]) => <span class="status"><Mark status={status} /> {number(count)} <Said>{status}</Said> </span>)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {pages > 1 && (
        <nav class="pager" aria-label="Pages of the table">
          <button type="button" disabled={at === 0} onClick={() => setPage(at - 1)}>Previous</button>
          <span role="status">{number(at * ON_PAGE + 1)} to {number(at * ON_PAGE + rows.length)} of {number(chosen.length)}</span>
          <button type="button" disabled={at === pages - 1} onClick={() => setPage(at + 1)}>Next</button>
        </nav>
      )}
    </>
  );
}
