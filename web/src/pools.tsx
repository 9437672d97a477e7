// Pools as the authors of drivers see them: slices, generations, what holds of a sound pool, and what releases drop.
import type { PoolChecked, PoolList } from "./api.ts";
import { Partitions } from "./partitions.tsx";
import { Answer, SeverityTag, Some, useAnswer, useTitle } from "./parts.tsx";
import { to } from "./routes.ts";
import { Code, counted, number, Said } from "./text.tsx";

export function Pools() {
  const answer = useAnswer<PoolList>("pools");
  useTitle("Pools");
  return (
    <Answer of={answer}>
      {({ pools, morePools }) => (
        <>
          <h1>{counted(pools.length + morePools, "pool")}</h1>
          <table class="rows">
            <caption class="unseen">Pools, those first with which something is wrong</caption>
            <thead><tr><th scope="col">Pool</th><th scope="col" class="figure">Slices</th><th scope="col" class="figure">Devices</th><th scope="col">What is wrong</th></tr></thead>
            <tbody>
              <Some of={pools} most={100}>
                {(each) => (
                  <tr>
                    <th scope="row"><a href={to.pool(each.driver, each.pool)}><Said>{each.pool}</Said></a> <span class="quiet small"><Said>{each.driver}</Said></span></th>
                    <td class="figure">{number(each.slices)} of {number(each.wanted)}</td>
                    <td class="figure">{number(each.devices)}</td>
                    <td>{each.problems.map((problem) => <p class="error"><Said>{problem}</Said></p>)}</td>
                  </tr>
                )}
              </Some>
            </tbody>
          </table>
          {morePools > 0 && <p class="quiet">and {counted(morePools, "other")}</p>}
        </>
      )}
    </Answer>
  );
}

export function PoolPage({ driver, pool }: { driver: string; pool: string }) {
  const answer = useAnswer<PoolChecked>("pool", { driver, pool });
  useTitle(`Pool ${pool}`);
  return (
    <>
      <p class="over"><a href={to.pools}>Pools</a> <span aria-hidden="true">›</span> <Said>{driver}</Said></p>
      <h1><Said>{pool}</Said></h1>
      <Answer of={answer}>{(checked) => <Checked of={checked} driver={driver} pool={pool} />}</Answer>
    </>
  );
}

function Checked({ of, driver, pool }: { of: PoolChecked; driver: string; pool: string }) {
  return (
    <>
      <ul class="plain checks">
        {of.checks.map(({ title, holds, detail }) => (
          <li>
            <span class={holds ? "sound" : "error"} role="img" aria-label={holds ? "yes" : "no"}>{holds ? "✓" : "✕"}</span> <Said>{title}</Said>{" "}
            {detail && <span class={holds ? "quiet" : "error"}><Said>{detail}</Said></span>}
          </li>
        ))}
      </ul>
      <Partitions driver={driver} pool={pool} />
      <section>
        <h2>What lints and the server say</h2>
        {of.findings.length === 0 && <p class="quiet">Nothing.</p>}
        <Some of={of.findings} most={30}>
          {(each) => (
            <article class="card">
              <p class="over"><SeverityTag severity={each.severity} /> <Said>{each.resourceSlice}</Said> <span class="quiet"><Said>{each.rule}</Said></span></p>
              <p class="cause"><Said>{each.field ? `${each.field}: ${each.message}` : each.message}</Said></p>
              {each.hint && <p class="remedy"><Code>{each.hint}</Code></p>}
            </article>
          )}
        </Some>
        {of.moreFindings > 0 && <p class="quiet">and {counted(of.moreFindings, "other")}</p>}
        {of.unseen > 0 && <p class="quiet">{counted(of.unseen, "other slice")} were not looked at.</p>}
      </section>
      <section>
        <h2>Fields that releases drop</h2>
        {of.dropped.length === 0 && <p class="quiet">None, with the default feature gates of these.</p>}
        {of.dropped.length > 0 && (
          <table class="rows">
            <caption class="unseen">Fields that releases drop</caption>
            <thead><tr><th scope="col">Release</th><th scope="col">Fields, and in how many places</th></tr></thead>
            <tbody>{of.dropped.map(({ release, fields }) => <tr><th scope="row"><Said>{release}</Said></th><td>{fields.map(({ field, places }) => <p><Code>{field}</Code> <span class="quiet">{number(places)}</span></p>)}</td></tr>)}</tbody>
          </table>
        )}
        <p class="quiet small">Asked with default feature gates: {of.releases.map((each, index) => <>{index > 0 && ", "}<Said>{each}</Said></>)}.</p>
      </section>
      <section>
        <h2>{counted(of.slices.length + of.moreSlices, "slice")}</h2>
        <table class="rows">
          <caption class="unseen">Slices</caption>
          <thead><tr><th scope="col">Slice</th><th scope="col" class="figure">Generation</th><th scope="col" class="figure">Of</th><th scope="col" class="figure">Devices</th></tr></thead>
          <tbody>
            <Some of={of.slices} most={50}>
              {(each) => (
                <tr>
                  <th scope="row"><Said>{each.name}</Said>{each.nodeName && <> <a class="small" href={to.node(each.nodeName)}><Said>{each.nodeName}</Said></a></>}</th>
                  <td class="figure">{number(each.generation)}</td><td class="figure">{number(each.resourceSliceCount)}</td><td class="figure">{number(each.devices)}</td>
                </tr>
              )}
            </Some>
          </tbody>
        </table>
      </section>
    </>
  );
}
