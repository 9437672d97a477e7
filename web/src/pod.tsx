// Why one pod waits: the sentence first, then what would help, then how the devices became fewer.
import type { Explained as Told, Explanation, ExplainedNodes, Remedy, RequestSteps, Step } from "./api.ts";
import { Answer, Copy, names, Notes, Some, useAnswer, useTitle } from "./parts.tsx";
import { to } from "./routes.ts";
import { Code, counted, number, Said, sentence } from "./text.tsx";

export function Pod({ namespace, name }: { namespace: string; name: string }) {
  const answer = useAnswer<Explanation>("explain", { namespace, name });
  useTitle(`${namespace}/${name}`);
  return (
    <>
      <p class="over"><a href={to.waiting}>Waiting pods</a> <span aria-hidden="true">›</span> Pod <b><Said>{`${namespace}/${name}`}</Said></b></p>
      <Answer of={answer}>
        {({ objects: [first], notes }) =>
          first === undefined ? <h1>There is no such pod</h1> : <><Explained of={first} tries /><Notes of={notes} /></>
        }
      </Answer>
    </>
  );
}

/** @param tries whether its remedies can be tried: it is a pod of the cluster */
export function Explained({ of, tries = false, level: Heading = "h1" }: { of: Told; tries?: boolean; level?: "h1" | "h3" }) {
  const { remedies = [], findings = [], holders = [], nodeKinds = [], nodes } = of;
  const [closest, ...others] = nodeKinds;
  const told = new Set(nodes?.rejected.map((each) => each.node));
  const refused = [
    ...(nodes?.excluded ?? []).filter((each) => !told.has(each.node)).map(({ node, reason }) => ({ node, reasons: [reason] })),
    ...(nodes?.rejected ?? []).map(({ node, reasons }) => ({ node, reasons: reasons.map((each) => each.detail || each.reason) })),
  ];
  return (
    <>
      <Heading class="sentence"><Said>{sentence(of.said ?? of.problem ?? of.verdict)}</Said></Heading>
      {of.boundTo && <p>It runs on <a href={to.node(of.boundTo)}><Said>{of.boundTo}</Said></a>.</p>}
      {of.placement && <p>There is room for it on <a href={to.node(of.placement.node)}><Said>{of.placement.node}</Said></a>.</p>}
      {findings.length > 0 && (
        <section>
          <h2>What else is wrong</h2>
          <ul><Some of={findings} most={10}>{(each) => <li><Said>{sentence(each)}</Said></li>}</Some></ul>
        </section>
      )}
      {remedies.length > 0 && (
        <section>
          <h2>What would help</h2>
          <div class="cards">{remedies.map((each, index) => <RemedyCard of={each} tryAt={tries ? to.remedy(of.namespace, of.name, index) : undefined} />)}</div>
        </section>
      )}
      {closest && (
        <section>
          <h2>What each rule leaves</h2>
          <Funnels of={closest} />
          {others.length > 0 && (
            <details>
              <summary>{counted(others.length, "other kind")} of nodes</summary>
              {others.map((each) => <Funnels of={each} />)}
            </details>
          )}
        </section>
      )}
      {holders.length > 0 && (
        <section>
          <h2>Who holds them</h2>
          <ul><Some of={holders} most={20}>{(each) => <li><Said>{each}</Said></li>}</Some></ul>
        </section>
      )}
      {refused.length > 0 && (
        <section>
          <h2>Nodes that are not asked for devices</h2>
          <ul>
            <Some of={refused} most={10}>
              {({ node, reasons }) => <li><a href={to.node(node)}><Said>{node}</Said></a>: <Said>{reasons.join("; ")}</Said></li>}
            </Some>
          </ul>
        </section>
      )}
      {of.kubeSchedulerWouldSay && (
        <section>
          <h2>kube-scheduler says</h2>
          <blockquote><Said>{of.kubeSchedulerWouldSay}</Said></blockquote>
        </section>
      )}
    </>
  );
}

const WHO = { user: "the pod’s owner", holder: "who holds the devices", administrator: "a cluster administrator", driver: "who runs the driver" };

function RemedyCard({ of, tryAt }: { of: Remedy; tryAt: string | undefined }) {
  const code = of.command ?? (typeof of.value === "string" ? of.value : undefined); // counts and amounts are in the text
  return (
    <article class="card">
      <p class="cause">It would fit <Said>{sentence(of.text).replace(/^./, (first) => first.toLowerCase())}</Said></p>
      {code && <p><Copy>{code}</Copy></p>}
      <p class="quiet small">
        {of.who && <>Can be done by {WHO[of.who]}. </>}Helps on {of.nodes > 1 && `${counted(of.nodes, "node")}: `}{names(of.names, of.nodes)}.
      </p>
      {tryAt && <p><a href={tryAt}>Try it on the map</a></p>}
    </article>
  );
}

function Funnels({ of }: { of: ExplainedNodes }) {
  return (
    <div class="funnels">
      <p class="quiet">On {names(of.names, of.nodes)}{of.lacks && <>: <Said>{of.lacks}</Said></>}</p>
      {of.error && <p class="box problem"><Said>{of.error}</Said></p>}
      {of.requests.map((each) => <Funnel of={each} />)}
    </div>
  );
}

const lostIn = (step: Step) => step.lost.reduce((sum, each) => sum + each.devices, 0);

/** The title without the expression that it is about, which has a place of its own. */
function titleOf({ title, rule, about }: Step): string {
  if (!title) return rule;
  return (about && title.endsWith(about) ? title.slice(0, -about.length) : title).replace(/:?\s*$/, "");
}

function Funnel({ of }: { of: RequestSteps }) {
  const [first] = of.steps;
  const all = first ? first.left + lostIn(first) : of.available;
  return (
    <table class="funnel">
      <caption>
        Request <b><Said>{of.request}</Said></b> of claim <Said>{of.claim}</Said>, class <Said>{of.deviceClass}</Said>: needs{" "}
        <b>{of.allocationMode === "All" ? "all" : number(of.needed)}</b>, finds <b>{number(of.available)}</b>
      </caption>
      <thead><tr><th scope="col">Rule</th><th scope="col">Left</th><th scope="col">What falls away, and why</th></tr></thead>
      <tbody>
        {first && first.left < all && <tr><th scope="row">devices there</th><td><Bar part={1} /> {number(all)}</td><td /></tr>}
        {of.steps.map((step) => (
          <tr class={step.left < of.needed ? "short" : ""}>
            <th scope="row"><Said>{titleOf(step)}</Said></th>
            <td><Bar part={all ? step.left / all : 0} /> {number(step.left)}</td>
            <td>
              {step.about && <p><Code>{step.about}</Code></p>}
              {step.lost.map((each) => (
                <p><span class="lost">−{number(each.devices)}</span> <Said>{each.text ?? each.reason}</Said></p>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Bar({ part }: { part: number }) {
  return <span class="bar" aria-hidden="true"><span style={{ width: `${100 * part}%` }} /></span>;
}
