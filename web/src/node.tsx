// A node and its devices.
import type { Device, NodeDevices } from "./api.ts";
import { Answer, Some, useAnswer, useTitle } from "./parts.tsx";
import { to } from "./routes.ts";
import { Mark } from "./status.tsx";
import { counted, Said } from "./text.tsx";
import { usedOf, valueOf } from "./device.tsx";
import { PoolTiles } from "./partitions.tsx";

export function NodePage({ name }: { name: string }) {
  const answer = useAnswer<NodeDevices>("node", { name });
  useTitle(`Node ${name}`);
  return (
    <>
      <p class="over"><a href={to.devices}>Devices</a> <span aria-hidden="true">›</span> Node</p>
      <h1><Said>{name}</Said></h1>
      <Answer of={answer}>
        {({ closed, devices }) => (
          <>
            {closed && <p>No pods without tolerations come here: <Said>{closed}</Said>.</p>}
            {poolsOf(devices).slice(0, MOST_POOLS).map(({ driver, pool }) => <PoolTiles driver={driver} pool={pool} />)}
            <table class="rows">
              <caption class="quiet">{counted(devices.length, "device")}</caption>
              <thead><tr><th scope="col">Device</th><th scope="col">Status</th><th scope="col">Held by</th><th scope="col" class="wide">Attributes</th></tr></thead>
              <tbody><Some of={devices} most={200}>{(device) => <Row of={device} />}</Some></tbody>
            </table>
          </>
        )}
      </Answer>
    </>
  );
}

/** Pools of a node whose partitions are shown: each is asked for. */
const MOST_POOLS = 4;

/** The pools of devices that take from counters. */
function poolsOf(devices: Device[]): { driver: string; pool: string }[] {
  const found = new Map(devices.filter(({ counters }) => counters.length > 0).map(({ driver, pool }) => [JSON.stringify([driver, pool]), { driver, pool }]));
  return [...found.values()];
}

function Row({ of }: { of: Device }) {
  return (
    <tr>
      <th scope="row">
        <a href={to.device(of.driver, of.pool, of.device)}><Said>{of.device}</Said></a>
        <p class="quiet small"><Said>{of.driver}</Said></p>
      </th>
      <td><span class="status"><Mark status={of.status} used={usedOf(of)} tainted={of.taints.length > 0} /> <Said>{of.status}</Said>{of.taints.length > 0 && ", tainted"}</span></td>
      <td>{of.claims.map((claim) => <p>{[...claim.pods, ...claim.others].map((each) => <><Said>{each}</Said> </>)}<span class="quiet small">claim <Said>{`${claim.namespace}/${claim.name}`}</Said></span></p>)}</td>
      <td class="wide small">
        {Object.entries(of.attributes).slice(0, 4).map(([key, given]) => <span class="status"><span class="quiet"><Said>{key}</Said></span> <Said>{valueOf(given)}</Said> </span>)}
      </td>
    </tr>
  );
}
