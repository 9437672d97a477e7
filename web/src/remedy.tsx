// A remedy that is tried: what the pod gets then, and the map as it would be. Nothing of it is done.
import type { Status, Tried } from "./api.ts";
import { DeviceMap, type Lit, type Tile } from "./map.tsx";
import { Answer, names, Some, useAnswer, useTitle } from "./parts.tsx";
import { to } from "./routes.ts";
import { Mark } from "./status.tsx";
import { counted, Said, sentence } from "./text.tsx";

export function RemedyPage({ namespace, name, number }: { namespace: string; name: string; number: string }) {
  const answer = useAnswer<Tried>("remedy", { namespace, name, number });
  useTitle(`Tried for ${namespace}/${name}`);
  return (
    <>
      <p class="over">
        <a href={to.waiting}>Waiting pods</a> <span aria-hidden="true">›</span> <a href={to.pod(namespace, name)}>Pod <Said>{`${namespace}/${name}`}</Said></a>{" "}
        <span aria-hidden="true">›</span> Tried
      </p>
      <Answer of={answer}>{(tried) => <Outcome of={tried} />}</Answer>
    </>
  );
}

function Outcome({ of: { remedy, node, devices, changes, moreChanges, map } }: { of: Tried }) {
  const isThere = (tile: Tile) => tile.names.includes(node);
  const tiles: Tile[] = [...map.groups.map((group) => ({ ...group, isElsewhere: false })), ...map.elsewhere.map((group) => ({ ...group, isElsewhere: true }))];
  const lit: Lit = { drivers: map.kinds.map((kind) => kind.driver), isLit: () => true };
  return (
    <>
      <h1 class="sentence">It gets {names(devices.map((each) => each.device), devices.length, 4)} on <Said>{node}</Said></h1>
      <p><Said>{sentence(remedy.text)}</Said> <span class="quiet">This is tried here only: nothing is changed in the cluster.</span></p>
      <section>
        <h2>{counted(changes.length + moreChanges, "device")} would change</h2>
        <table class="rows">
          <caption class="unseen">Devices that would change</caption>
          <thead><tr><th scope="col">Device</th><th scope="col">Now</th><th scope="col">Then</th></tr></thead>
          <tbody>
            <Some of={changes} most={20}>
              {(each) => (
                <tr>
                  <th scope="row"><a href={to.device(each.driver, each.pool, each.device)}><Said>{each.device}</Said></a> <span class="quiet small"><Said>{each.nodeName || each.pool}</Said></span></th>
                  <td><Mark status={each.before as Status} /> <Said>{each.before}</Said></td>
                  <td><Mark status={each.after as Status} /> <Said>{each.after}</Said></td>
                </tr>
              )}
            </Some>
          </tbody>
        </table>
      </section>
      <h2>The devices then</h2>
      <DeviceMap tiles={[...tiles.filter(isThere), ...tiles.filter((tile) => !isThere(tile))]} lit={lit} />
    </>
  );
}
