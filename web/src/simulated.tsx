// All pods of a text placed one after the other in the cluster that is shown, with what would be left of its partitions.
import type { Placement, Simulated } from "./api.ts";
import { names, Notes, Some } from "./parts.tsx";
import { to } from "./routes.ts";
import { counted, number, Said, sentence } from "./text.tsx";

export function SimulatedText({ of }: { of: Simulated }) {
  const { pods, runs, problems, waiting, unplaced = [], moreObjects, notes } = of;
  const partitions = runs[0]?.fragmentation?.partitions ?? [];
  return (
    <>
      <table class="rows">
        <caption class="unseen">How many would be placed</caption>
        <thead><tr><th scope="col">Objective</th><th scope="col" class="figure">Placed</th><th scope="col" class="figure">Nodes used</th>{partitions.map(({ partition }) => <th scope="col" class="figure wide">Room left for <Said>{partition}</Said></th>)}</tr></thead>
        <tbody>
          {runs.map((run) => (
            <tr>
              <th scope="row"><Said>{run.objective}</Said></th>
              <td class="figure"><b>{number(run.placed)}</b> of {number(pods)}</td>
              <td class="figure">{number(run.nodesUsed)}</td>
              {partitions.map(({ driver, partition }) => {
                const left = run.fragmentation?.partitions.find((each) => each.driver === driver && each.partition === partition);
                return <td class="figure wide">{left ? number(left.placeable) : "?"}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {runs[0] && <Placements of={runs[0]} />}
      {unplaced.map(({ pods, reason, causes = [] }) => (
        <article class="card">
          <p class="cause"><Said>{sentence(reason)}</Said></p>
          <p class="quiet">{names(pods, pods.length)}</p>
          {causes.length > 0 && <ul>{causes.map((cause) => <li><Said>{sentence(cause)}</Said></li>)}</ul>}
        </article>
      ))}
      {problems.map(({ object, problem }) => <p class="error"><Said>{object}</Said>: <Said>{problem}</Said></p>)}
      {waiting.map(({ object, missing }) => <p><Said>{object}</Said> waits for <Said>{missing}</Said></p>)}
      {moreObjects > 0 && <p class="quiet">{counted(moreObjects, "other object")} were not looked at.</p>}
      <Notes of={notes} />
    </>
  );
}

function Placements({ of: { objective, placements, morePlacements } }: { of: Simulated["runs"][number] }) {
  const placed = placements.filter(({ node }) => node !== null);
  if (placed.length === 0) return null;
  return (
    <>
      <table class="rows">
        <caption><Said>{objective}</Said> would place</caption>
        <thead><tr><th scope="col">Pod</th><th scope="col">Node</th><th scope="col">Devices</th></tr></thead>
        <tbody><Some of={placed} most={20}>{(each) => <Row of={each} />}</Some></tbody>
      </table>
      {morePlacements > 0 && <p class="quiet">and {counted(morePlacements, "other")}</p>}
    </>
  );
}

function Row({ of: { pod, node, devices = [] } }: { of: Placement }) {
  return (
    <tr>
      <th scope="row"><Said>{pod}</Said></th>
      <td>{node !== null && <a href={to.node(node)}><Said>{node}</Said></a>}</td>
      <td><Some of={devices} most={4}>{(each) => <span class="status"><a href={to.device(each.driver, each.pool, each.device)}><Said>{each.device}</Said></a> </span>}</Some></td>
    </tr>
  );
}
