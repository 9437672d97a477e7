// What the server answers, and how it is fetched: an answer stays until the cluster has changed and the next one is there.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { authorization, drop, keep } from "./token.ts";

export interface Cluster {
  source: string;
  kubeVersion: string;
  isLive: boolean;
  version: number;
  /** these are null where they are not shown to who asks */
  nodes: number | null;
  devices: number | null;
  free: number | null;
  /** null where there was no time to look at all pods */
  waiting: number | null;
  failures: Failure[];
  notes: string[];
}

export interface Failure {
  file: string;
  message: string;
}

export type Severity = "error" | "warning" | "note";

export interface Finding {
  code: string;
  name: string;
  severity: Severity;
  cause: string;
  objects: { kind: string; namespace?: string; name: string }[];
  devices: number;
  remedy: string;
  command: string;
}

export interface Doctor {
  findings: Finding[];
  unfinished: unknown[];
  unread: unknown[];
  failures: Failure[];
}

export interface Remedy {
  kind: string;
  text: string;
  nodes: number;
  names: string[];
  who?: "user" | "holder" | "administrator" | "driver";
  value?: unknown;
  command?: string;
}

export interface Step {
  rule: string;
  title?: string;
  left: number;
  lost: { reason: string; text?: string; devices: number; example?: string }[];
  about?: string;
}

export interface RequestSteps {
  claim: string;
  request: string;
  deviceClass: string;
  allocationMode: string;
  needed: number;
  available: number;
  steps: Step[];
}

export interface ExplainedNodes {
  nodes: number;
  names: string[];
  requests: RequestSteps[];
  error?: string;
  lacks?: string;
}

export interface Explained {
  kind: string;
  namespace: string;
  name: string;
  said?: string;
  verdict: string;
  problem?: string;
  boundTo?: string;
  nodes?: {
    asked: number;
    fitting: number;
    excluded: { node: string; reason: string }[];
    rejected: { node: string; reasons: { plugin: string; reason: string; detail: string }[] }[];
  };
  nodeKinds?: ExplainedNodes[];
  remedies?: Remedy[];
  findings?: string[];
  holders?: string[];
  placement?: { node: string };
  kubeSchedulerWouldSay?: string;
}

export interface Explanation {
  objects: Explained[];
  notes: string[];
  failures: Failure[];
}

export type Status =
  | "free"
  | "published"
  | "allocated"
  | "shared"
  | "incomplete pool"
  | "invalid pool"
  | "feature gate off"
  | "counters used up"
  | "other groups in use";

export interface Square {
  kind: number;
  name: string;
  status: Status;
  tainted?: boolean;
  /** of a device that claims share: how much of its fullest capacity they use, from 0 to 1 */
  used?: number | null;
  parent?: string;
}

export interface Group {
  count: number;
  names: string[];
  closed: string;
  devices: Square[];
}

export interface Kind {
  driver: string;
  count: number;
  attributes: Record<string, unknown>;
}

export interface ClusterMap {
  version: number;
  kinds: Kind[];
  groups: Group[];
  elsewhere: Group[];
}

export interface Giver {
  kind: string;
  name: string;
}

/** A value as in the API under the name of its type, who gives it, and what it hides. */
export type Given = Record<string, unknown> & { from: Giver; hides?: Given[]; hidesMore?: number; left?: string };

/** How much of a capacity claims use that share it, and which amounts a request can take; from 0 to 1. */
export interface Fill {
  capacity: string;
  total: string;
  /** null if it is not known */
  used: number | null;
  step: string | null;
  ticks: { kind: string; amount: string; place: number }[];
}

export interface Device {
  driver: string;
  pool: string;
  device: string;
  resourceSlice: string;
  generation: number;
  status: Status;
  problem?: string;
  nodeName?: string;
  nodeClosed?: string;
  attributes: Record<string, Given>;
  moreAttributes?: number;
  capacity: Record<string, Given>;
  moreCapacity?: number;
  counters: { counterSet: string; counter: string; takes: string; left: string | null; total: string | null }[];
  taints: Given[];
  moreTaints?: number;
  fills: Fill[];
  claims: { namespace: string; name: string; request: string; pods: string[]; others: string[] }[];
  [more: string]: unknown;
}

export interface NodeDevices {
  name: string;
  closed: string;
  devices: Device[];
}

export interface Selected {
  kinds: number[];
  failing: { kind: number; error: string }[];
  /** the place counts lines, and characters of the line, from 1 */
  error: null | { message: string; line?: number | null; column?: number | null; hint?: string };
}

/** What there is of the devices of a model, or of a class. */
export interface Stock {
  deviceClass?: string;
  driver?: string;
  model?: string;
  devices: number;
  held: number;
  free: number;
  wholeNodes: number;
  onWholeNodes: number;
  near: { by: string; sets: { size: number; count: number }[] }[];
  stranded: { reason: string; devices: number }[];
}

/** Nodes with as many devices of each model, and the name of one. */
export interface NodeKind {
  node: string;
  nodes: number;
  devices: { driver: string; model: string; devices: number }[];
}

interface Free {
  models: Stock[];
  classes: Stock[];
  /** classes whose selectors there was no time to ask */
  unfinished: string[];
  fragmentation: null | {
    partitions: { driver: string; partition: string; placeable: number; sufficientFor: number; whole: number }[];
    shares: { driver: string; capacity: string; devices: number; total: number; free: number; largestRest: number }[];
  };
}

export interface Capacity extends Free {
  requesting: { kind: string; namespace: string; name: string }[];
  moreRequesting: number;
  nodeKinds: NodeKind[];
}

/** What is free after a change, and which pods leave because of it. */
export interface ChangedCapacity extends Free {
  leaving: string[];
  moreLeaving: number;
}

/** How many more like an object there is room for; `order` has the place of the node of each. */
export interface Room {
  object: string;
  objectives: {
    objective: string;
    copies: number;
    isAll: boolean;
    reason: string;
    nodes: string[];
    order: number[];
  }[];
}

/** The new nodes that so many copies need, the best way first. */
export interface NewNodes {
  object: string;
  copies: number;
  placedWithout: number;
  complete: boolean;
  ways: { nodes: { like: string; count: number }[]; total: number; left: number }[];
}

export interface PoolShort {
  driver: string;
  pool: string;
  generation: number;
  slices: number;
  wanted: number;
  devices: number;
  problems: string[];
}

export interface PoolList {
  pools: PoolShort[];
  morePools: number;
}

export interface PoolChecked {
  driver: string;
  pool: string;
  slices: { name: string; generation: number; resourceSliceCount: number; devices: number; nodeName: string }[];
  moreSlices: number;
  checks: { title: string; holds: boolean; detail: string }[];
  findings: { resourceSlice: string; severity: Severity; rule: string; field?: string; message: string; hint?: string }[];
  moreFindings: number;
  /** slices that were not looked at */
  unseen: number;
  releases: string[];
  dropped: { release: string; fields: { field: string; places: number }[] }[];
}

export interface Partition {
  device: string;
  status: Status;
  tainted: boolean;
  /** how much of each counter it takes, from 0 to 1 */
  shares: Record<string, number>;
  groups: string[];
}

export interface CounterSet {
  name: string;
  counters: { name: string; total: string }[];
  partitions: Partition[];
  morePartitions: number;
}

/** Which devices of counter sets that are alike cannot be in use together, by their places; all other pairs can. */
export interface Pairs {
  counterSets: string[];
  moreCounterSets: number;
  devices: string[];
  refused: { first: number; second: number; reason: string }[];
  moreDevices: number;
}

export interface Partitioned {
  driver: string;
  pool: string;
  counterSets: CounterSet[];
  moreCounterSets: number;
  pairs: Pairs[];
  unfinished: boolean;
}

export interface Beside {
  refused: { device: string; reason: string }[];
  moreRefused: number;
}

export interface TextFinding {
  severity: Severity;
  rule: string;
  field?: string;
  message: string;
  line?: number;
  column?: number;
  width: number;
  hint?: string;
  object: string;
  /** whether the server reports it only once the others are fixed */
  foretold: boolean;
  fixable: boolean;
}

export interface Validated {
  summary: string;
  findings: TextFinding[];
  moreFindings: number;
  failures: Failure[];
}

export interface Placement {
  pod: string;
  node: string | null;
  devices?: { claim: string; request: string; driver: string; pool: string; device: string }[];
}

/** All pods of a text, placed. */
export interface Simulated {
  pods: number;
  runs: {
    objective: string;
    placed: number;
    nodesUsed: number;
    placements: Placement[];
    morePlacements: number;
    fragmentation: Capacity["fragmentation"];
  }[];
  problems: { object: string; problem: string }[];
  waiting: { object: string; missing: string }[];
  unplaced?: { pods: string[]; reason: string; causes?: string[] }[];
  notes: string[];
  moreObjects: number;
}

/** A remedy that has been tried. */
export interface Tried {
  remedy: Remedy;
  node: string;
  devices: { driver: string; pool: string; device: string }[];
  changes: { driver: string; pool: string; device: string; nodeName: string; before: string; after: string }[];
  moreChanges: number;
  map: Omit<ClusterMap, "version">;
}

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function answer<T>(path: string, init: RequestInit = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`api/v1/${path}`, { headers: authorization(), ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Refused(0, "claimcheck ui does not answer: is it still running?");
  }
  const body: unknown = await response.json().catch(() => null);
  if (response.ok && body !== null) {
    keep();
    return body as T;
  }
  if (response.status === 401) canSignIn.value = response.headers.has("WWW-Authenticate");
  const said = (body as { error?: unknown } | null)?.error;
  throw new Refused(response.status, typeof said === "string" ? said : `the answer has the status ${response.status}`);
}

/** The answer to a question that may be long. */
export function ask<T>(name: string, question: Record<string, string>, aborted: AbortSignal): Promise<T> {
  const headers = { ...authorization(), "Content-Type": "application/json" };
  return answer(name, { method: "POST", headers, body: JSON.stringify(question), signal: aborted });
}

export function table(name: string): Promise<{ text: string }> {
  return answer(name);
}

/** Why nothing is shown: there is no token that counts. */
export const loggedOut = signal("");
/** Whether tokens of the cluster count, rather than that of an address. */
export const canSignIn = signal(false);
export const isConnected = signal(true);

/** An answer, or why there is none; neither while the first one is awaited. */
export interface Loaded<T> {
  value?: T;
  error?: Refused;
}

const MOST_KEPT = 30;
const kept = new Map<string, { loaded: Signal<Loaded<unknown>>; version: number }>();
let version = 0;

/** The answer to a question, asked again when the cluster has changed since. */
export function load<T>(name: string, parameters: Record<string, string> = {}): ReadonlySignal<Loaded<T>> {
  const query = new URLSearchParams(parameters).toString();
  const path = query ? `${name}?${query}` : name;
  let entry = kept.get(path);
  if (entry === undefined) {
    entry = { loaded: signal<Loaded<unknown>>({}), version: -1 };
  } else {
    kept.delete(path); // the one used last is the last to go
  }
  kept.set(path, entry);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
  if (entry.version < version) {
    entry.version = version;
    void refresh(path, entry);
  }
  return entry.loaded as ReadonlySignal<Loaded<T>>;
}

async function refresh(path: string, entry: { loaded: Signal<Loaded<unknown>>; version: number }) {
  const asked = entry.version;
  let loaded: Loaded<unknown>;
  try {
    loaded = { value: await answer(path) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) {
      if (drop()) return location.reload();
      loggedOut.value = error.message;
    }
    const { value } = entry.loaded.value;
    loaded = error.status === 0 && value !== undefined ? { value } : { error };
  }
  if (asked === entry.version) entry.loaded.value = loaded;
}

/** Told when what is shown has to be asked for again. */
export const changes = signal(0);

export function reload() {
  version += 1;
  changes.value = version;
}

const PAUSE = 150;
const RETRY = 5_000;
let timer: ReturnType<typeof setTimeout> | undefined;

function reloadSoon() {
  timer ??= setTimeout(() => {
    timer = undefined;
    reload();
  }, PAUSE);
}

/** Resolves when the page can be seen; `hidden` aborts when it no longer can. */
async function seen(): Promise<AbortSignal> {
  const hidden = new AbortController();
  while (document.hidden) await new Promise((resolve) => addEventListener("visibilitychange", resolve, { once: true }));
  addEventListener("visibilitychange", () => hidden.abort(), { once: true });
  return hidden.signal;
}

/** Follow the changes of the cluster; those in quick succession are one. A browser has six connections for all pages, so only those that are seen follow. */
export async function follow() {
  for (let isFirst = true; ; isFirst = false) {
    const hidden = await seen();
    try {
      const { ok, body } = await fetch("api/v1/changes", { headers: authorization(), signal: hidden });
      if (!ok || body === null) throw new Error("refused");
      if (!isFirst) reloadSoon(); // whatever has changed meanwhile
      isConnected.value = true;
      const lines = body.pipeThrough(new TextDecoderStream()).getReader();
      for (let { value, done } = await lines.read(); !done; { value, done } = await lines.read()) {
        if (value?.includes("data:")) reloadSoon();
      }
    } catch {
      // the server refuses, has gone, or nobody looks
    }
    if (hidden.aborted) continue;
    isConnected.value = false;
    if (!loggedOut.value) reloadSoon(); // which tells a server that refuses from one that is not there
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }
}
