// The pods that wait, by cause: what somebody sees first.
import type { Cluster, Doctor, Finding, Severity } from "./api.ts";
import { Answer, Copy, Notes, SeverityTag, Some, useAnswer, useTitle } from "./parts.tsx";
import { to } from "./routes.ts";
import { counted, number, Said, sentence } from "./text.tsx";

export const WAITS = "CD001";
const WORST_FIRST: Severity[] = ["error", "warning", "note"];
const MOST_PODS = 5;
const MOST_OTHERS = 3;

export function worstFirst(findings: Finding[]): Finding[] {
  const rank = (each: Finding) => WORST_FIRST.indexOf(each.severity);
  return findings.toSorted((one, other) => rank(one) - rank(other) || other.objects.length - one.objects.length);
}

export function Waiting() {
  const doctor = useAnswer<Doctor>("doctor");
  const cluster = useAnswer<Cluster>("cluster");
  useTitle("Waiting pods");
  return (
    <>
      {cluster.value && <Counts of={cluster.value} />}
      <Answer of={doctor}>
        {({ findings, unfinished }) => {
          const causes = worstFirst(findings.filter((each) => each.code === WAITS));
          const pods = causes.reduce((sum, each) => sum + each.objects.length, 0);
          const isCut = unfinished.includes("pods that wait");
          return (
            <>
              <h1>{isCut ? "There was no time to look at all pods that wait" : pods ? `${counted(pods, "pod waits", "pods wait")}${causes.length > 1 ? `, for ${number(causes.length)} reasons` : ""}` : "No pod waits for devices"}</h1>
              {pods > 0 && <ol class="plain">{causes.map((each) => <li><Cause of={each} /></li>)}</ol>}
              {isCut && <p>Ask about one: <code>claimcheck explain pod/NAME -n NAMESPACE</code>; or give more time: <code>claimcheck ui --timeout 300</code>.</p>}
              {pods === 0 && <Others of={worstFirst(findings)} />}
            </>
          );
        }}
      </Answer>
      {cluster.value && <Notes of={cluster.value.notes} />}
    </>
  );
}

function Counts({ of }: { of: Cluster }) {
  return (
    <p class="counts">
      {of.nodes !== null && <span><b>{number(of.nodes)}</b> {of.nodes === 1 ? "node" : "nodes"}</span>}
      {of.devices !== null && <span><b>{number(of.devices)}</b> {of.devices === 1 ? "device" : "devices"}</span>}
      {of.free !== null && <span><b>{number(of.free)}</b> free</span>}
      {of.waiting !== null && <span><b>{number(of.waiting)}</b> {of.waiting === 1 ? "pod waits" : "pods wait"}</span>}
    </p>
  );
}

function Cause({ of }: { of: Finding }) {
  return (
    <article class="card">
      <h2 class="cause">
        {of.objects.length > 1 && <span class="many">{counted(of.objects.length, "pod")}</span>} <Said>{sentence(of.cause)}</Said>
      </h2>
      {of.remedy && <p class="remedy"><Said>{sentence(of.remedy)}</Said></p>}
      <Objects of={of} />
    </article>
  );
}

export function Objects({ of, most = MOST_PODS }: { of: Finding; most?: number }) {
  return (
    <p class="objects">
      <Some of={of.objects} most={most}>
        {({ kind, namespace, name }) =>
          kind === "Pod" ? (
            <a href={to.pod(namespace ?? "", name)}><Said>{`${namespace}/${name}`}</Said></a>
          ) : (
            <span><Said>{kind}</Said> <Said>{namespace ? `${namespace}/${name}` : name}</Said></span>
          )
        }
      </Some>
    </p>
  );
}

function Others({ of }: { of: Finding[] }) {
  if (of.length === 0) return <p class="quiet">There are no other findings either.</p>;
  return (
    <>
      <p class="quiet">{counted(of.length, "other finding")}{of.length > MOST_OTHERS && <>; <a href={to.findings}>show all</a></>}:</p>
      {of.slice(0, MOST_OTHERS).map((each) => <FindingCard of={each} level="h2" />)}
    </>
  );
}

/** @param level of its heading */
export function FindingCard({ of, level: Heading }: { of: Finding; level: "h2" | "h3" }) {
  return (
    <article class="card">
      <p class="over"><SeverityTag severity={of.severity} /> <span class="quiet"><Said>{of.code}</Said> <Said>{of.name}</Said></span></p>
      <Heading class="cause"><Said>{sentence(of.cause)}</Said></Heading>
      {of.remedy && <p class="remedy"><Said>{sentence(of.remedy)}</Said></p>}
      <Objects of={of} />
      {of.devices > 0 && <p class="quiet small">Concerns {counted(of.devices, "device")}.</p>}
      {of.command && <p><Copy>{of.command}</Copy></p>}
    </article>
  );
}
