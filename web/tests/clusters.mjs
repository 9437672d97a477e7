// Answers of `claimcheck ui` about clusters of several sizes and states: for each question, a function of its parameters.
import { readFileSync } from "node:fs";

const sample = (name) => JSON.parse(readFileSync(new URL(`samples/${name}-explain.json`, import.meta.url)));
const TITLES = { pool: "incomplete and invalid pools", allocated: "allocated devices", counters: "counters" };

/** A sample as the server answers it: with the sentence, titles, holders, and who can do what. */
function explanation(name, said, holders = []) {
  const document = sample(name);
  const [object] = document.objects;
  object.said = said;
  object.holders = holders;
  for (const remedy of object.remedies) remedy.who = "user";
  for (const kind of object.nodeKinds)
    for (const request of kind.requests)
      for (const step of request.steps) {
        step.title = step.about ? `the ${step.rule}: ${step.about}` : (TITLES[step.rule] ?? step.rule);
        for (const lost of step.lost) lost.text = lost.pods ? `held by pod ${lost.pods[0]} (claim ${lost.claims[0].split("/")[1]})` : lost.reason;
      }
  return document;
}

const HELD = "does not fit on n1: request gpu finds 0 of 1 device: held by pod team-b/api-5d-x (claim api-gpu)";
const EXPLAINED = {
  "team-a/train": explanation("held-by-a-deployment", HELD, ["on n1: pod team-b/api-5d-x (claim api-gpu)"]),
  "default/train": explanation("counters-exhausted", "does not fit on n1: request gpu finds 0 of 1 device: too little is left in its counter set: gpu-0 (memory needs 20Gi, 10Gi left); held by pod default/notebook (claim notebook)", ["on n1: pod default/notebook (claim notebook)"]),
  "team-c/infer": explanation("misspelt-value", 'does not fit on n1: no device has model "A100"; did you mean "a100"?'),
};

const from = (kind, name) => ({ from: { kind, name } });
export const finding = (code, name, severity, cause, objects, remedy = "", command = "", devices = 0) =>
  ({ code, name, severity, cause, objects, devices, remedy, command });
const pods = (namespace, name, count) =>
  Array.from({ length: count }, (_, index) => ({ kind: "Pod", namespace, name: count > 1 ? `${name}-${index}` : name }));
const doctor = (...findings) => ({ findings, unfinished: [], unread: [], failures: [] });

const WAITS = finding("CD001", "pod-waits", "error", HELD, pods("team-a", "train", 1), "it would fit if Deployment team-b/api were scaled down to 0 (on n1)", "claimcheck explain pod/train -n team-a");
const OTHERS = [
  finding("CD010", "incomplete-pool", "error", "lacks slices of its newest generation", [{ kind: "pool", name: "gpu.example.com/n7" }], "if that lasts, look at the pods of gpu.example.com on n7", "claimcheck devices --driver=gpu.example.com", 4),
  finding("CD003", "reserved-for-gone-pod", "warning", "reserved only for pods that do not exist any more, or have ended", [{ kind: "ResourceClaim", namespace: "default", name: "notebook" }], "", "", 1),
  finding("CD016", "class-without-devices", "note", "chooses none of the 96 devices of the cluster", [{ kind: "DeviceClass", name: "mid-gpu" }], "", "claimcheck devices --class=mid-gpu"),
];

const STATUSES = ["free", "allocated", "allocated", "shared", "counters used up", "other groups in use", "incomplete pool", "invalid pool", "feature gate off"];
const KINDS = [
  { driver: "gpu.example.com", count: 0, attributes: { "gpu.example.com/model": "H100", "resource.kubernetes.io/pcieRoot": "pci0000:00" } },
  { driver: "gpu.example.com", count: 0, attributes: { "gpu.example.com/model": "a100", "resource.kubernetes.io/pcieRoot": "pci0000:10" } },
  { driver: "nic.example.com", count: 0, attributes: {} },
];

function map(groups, elsewhere = []) {
  const kinds = KINDS.map((kind) => ({ ...kind }));
  for (const group of [...groups, ...elsewhere]) for (const device of group.devices) kinds[device.kind].count += group.count;
  return { version: 1, kinds, groups, elsewhere };
}

const square = (index, status) => ({
  kind: index % 8 === 7 ? 2 : index % 2,
  name: `gpu-${index}`,
  status,
  ...(status === "shared" && { used: 0.7 }),
  ...(index === 4 && { tainted: true }),
});
const group = (first, count, statusOf, closed = "") => ({
  count,
  names: Array.from({ length: Math.min(count, 1000) }, (_, index) => `n${first + index}`),
  closed,
  devices: Array.from({ length: 8 }, (_, index) => square(index, statusOf(index))),
});
const spread = (seed) => (index) => STATUSES[(seed * 7 + index * (1 + (seed % 3))) % STATUSES.length];

const BUSY = map(
  [
    group(1, 1, spread(1)),
    group(2, 96, (index) => (index < 5 ? "allocated" : "free")),
    group(98, 12, () => "allocated"),
    group(110, 1, spread(3), "taint node.kubernetes.io/unschedulable:NoSchedule"),
    group(111, 2, () => "free"),
  ],
  [{ count: 1, names: ["fabric"], closed: "", devices: [square(0, "free"), square(1, "allocated"), square(2, "shared")] }],
);

const device = (driver, pool, name, status = "allocated") => ({
  driver,
  pool,
  device: name,
  resourceSlice: `${pool}-${driver}`,
  generation: 3,
  status,
  nodeName: pool,
  allowMultipleAllocations: true,
  attributes: {
    model: { string: "H100", ...from("ResourceSlice", `${pool}-${driver}`) },
    driverVersion: { version: "12.4.1", ...from("ResourceSlicePatch", "versions"), hides: [{ version: "12.4.0", ...from("ResourceSlice", `${pool}-${driver}`) }] },
    numaNode: { int: 1, ...from("ResourceSlice", `${pool}-${driver}`) },
    isOld: { null: {}, ...from("ResourceSlicePatch", "versions") },
  },
  capacity: { memory: { value: "80Gi", left: "10Gi", requestPolicy: { default: "10Gi" }, ...from("ResourceSlice", `${pool}-${driver}`) } },
  fills: [
    { capacity: "memory", total: "80Gi", used: 0.875, step: "10Gi", ticks: [["default", "10Gi"], ["min", "10Gi"], ["step", "20Gi"], ["step", "30Gi"], ["max", "40Gi"]].map(([kind, amount]) => ({ kind, amount, place: parseInt(amount) / 80 })) },
    { capacity: "lanes", total: "16", used: 0, step: null, ticks: [["value", "4"], ["value", "8"]].map(([kind, amount]) => ({ kind, amount, place: amount / 16 })) },
  ],
  counters: [{ counterSet: "gpu-0", counter: "memory", takes: "30Gi", left: "10Gi", total: "40Gi" }],
  taints: [{ key: "example.com/overheated", effect: "NoSchedule", ...from("DeviceTaintRule", "hot") }],
  claims: status === "allocated" ? [{ namespace: "team-b", name: "api-gpu", request: "gpu", pods: ["team-b/api-5d-x"], others: [] }] : [],
});
const node = ({ name }) => ({
  name,
  closed: name === "n110" ? "taint node.kubernetes.io/unschedulable:NoSchedule" : "",
  devices: Array.from({ length: 8 }, (_, index) => device("gpu.example.com", name, `gpu-${index}`, STATUSES[index])),
});

function select({ expression }) {
  const lines = expression.split("\n");
  const line = lines.findIndex((each) => each.includes("?")) + 1;
  const message = "Syntax error: token recognition error at: '?'";
  if (line) return { kinds: [], failing: [], error: { message, line, column: lines[line - 1].indexOf("?") + 1, hint: "leave it out" } };
  return { kinds: [0], failing: [{ kind: 2, error: "no such key: model" }], error: null };
}

const cluster = (more) => ({ source: "cluster.yaml", kubeVersion: "1.37", isLive: false, version: 1, nodes: 112, devices: 899, free: 306, waiting: 0, failures: [], notes: [], ...more });

const stock = (more) => ({
  devices: 96, held: 40, free: 53, wholeNodes: 5, onWholeNodes: 40,
  near: [{ by: "node", sets: [{ size: 2, count: 26 }, { size: 4, count: 12 }, { size: 8, count: 5 }] }, { by: "resource.kubernetes.io/pcieRoot", sets: [{ size: 2, count: 20 }, { size: 4, count: 0 }, { size: 8, count: 0 }] }],
  stranded: [{ reason: "node cordoned", devices: 3 }],
  ...more,
});
const FRAGMENTATION = {
  partitions: [{ driver: "gpu.example.com", partition: "1g.10gb", placeable: 9, sufficientFor: 12, whole: 28 }],
  shares: [{ driver: "nic.example.com", capacity: "bandwidth", devices: 3, total: 3e11, free: 1.2e11, largestRest: 6e10 }],
};
const NODE_KINDS = [
  { node: "n1", nodes: 110, devices: [{ driver: "gpu.example.com", model: "H100", devices: 7 }, { driver: "nic.example.com", model: "", devices: 1 }] },
  { node: "n110", nodes: 2, devices: [{ driver: "gpu.example.com", model: "a100", devices: 4 }] },
];
const capacity = () => ({
  models: [stock({ driver: "gpu.example.com", model: "H100" }), stock({ driver: "nic.example.com", model: "", near: [], stranded: [] })],
  classes: [stock({ deviceClass: "big-gpu" })],
  unfinished: ["slow"],
  fragmentation: FRAGMENTATION,
  requesting: [{ kind: "ResourceClaimTemplate", namespace: "team-a", name: "gpu" }],
  moreRequesting: 2,
  nodeKinds: NODE_KINDS,
});
const changedCapacity = ({ applied, cordon }) => {
  if (applied !== undefined && !applied.includes("kind")) return { refused: 422, error: "what can be tried are DeviceClass, DeviceTaintRule" };
  const { models, classes, unfinished, fragmentation } = capacity();
  const other = { devices: 120, free: 61, onWholeNodes: 64, stranded: [{ reason: "tainted", devices: 8 }] };
  return { models: cordon ? models : [{ ...models[0], ...other }], classes: [...classes, stock({ deviceClass: "new" })], unfinished, fragmentation, leaving: ["team-b/api-5d-x"], moreLeaving: 2 };
};
const newNodes = ({ copies, template }) => ({
  object: "ResourceClaim default/c", copies: +copies, placedWithout: 12, complete: !template,
  ways: [{ nodes: [{ like: "n1", count: 3 }], total: 3, left: 0 }, { nodes: [{ like: "n1", count: 1 }, { like: "n110", count: 2 }], total: 3, left: 1 }, { nodes: [], total: 0, left: 8 }],
});
const objective = (objective, copies, more) => ({ objective, copies, isAll: true, reason: "0/3 nodes are available.", nodes: ["n1", "n2"], order: Array.from({ length: copies }, (_, index) => (index < 8 ? 0 : 1)), ...more });
function room({ kind, namespace, name, text, deviceClass, count, cordon }) {
  if (text !== undefined && !text.includes("kind")) return { refused: 422, error: "nothing in it requests devices" };
  const object = text ? "ResourceClaim default/c" : deviceClass ? `ResourceClaim default/${count}-of-${deviceClass}` : `${kind} ${namespace}/${name}`;
  if (cordon) return { object, objectives: [objective("first-fit", 8), objective("best-fit", 9)] };
  return { object, objectives: [objective("first-fit", 12), objective("best-fit", 1000, { isAll: false, reason: "" })] };
}

const textFinding = (more) => ({ severity: "error", rule: "UnknownField", field: "spec.devices.requests[0].exactly.deviceClassname", message: "unknown field", line: 3, column: 5, width: 6, hint: "did you mean `deviceClassName`?", object: "ResourceClaim default/c", foretold: false, fixable: true, ...more });
function validate({ text }) {
  const findings = text.includes("deviceClassname") ? [textFinding({}), textFinding({ fixable: false, foretold: true, line: undefined })] : [];
  return { summary: `1 object: ${findings.length ? 0 : 1} valid, ${findings.length ? 1 : 0} invalid`, findings, moreFindings: 0, failures: [] };
}
const fix = ({ text }) => ({ text: text.replaceAll("deviceClassname", "deviceClassName") });
const explainText = ({ text }) => (text.includes("kind") ? { ...EXPLAINED["team-c/infer"], moreObjects: 0 } : { refused: 422, error: "nothing in it requests devices" });
const remedy = () => ({
  remedy: EXPLAINED["team-a/train"].objects[0].remedies[0],
  node: "n2",
  devices: [{ driver: "gpu.example.com", pool: "n2", device: "gpu-5" }],
  changes: [{ driver: "gpu.example.com", pool: "n2", device: "gpu-5", nodeName: "n2", before: "free", after: "allocated" }],
  moreChanges: 3,
  map: BUSY,
});

const poolShort = (more) => ({ driver: "gpu.example.com", pool: "n1", generation: 3, slices: 1, wanted: 2, devices: 8, problems: ["All slices of generation 3 are there: no (1 of 2 slices)"], ...more });
const pools = () => ({ pools: [poolShort({}), poolShort({ pool: "n2", slices: 2, problems: [] })], morePools: 4 });
const pool = ({ driver, pool }) => ({
  driver, pool,
  slices: [{ name: "n1-a", generation: 3, resourceSliceCount: 2, devices: 8, nodeName: "n1" }, { name: "n1-old", generation: 2, resourceSliceCount: 2, devices: 8, nodeName: "" }],
  moreSlices: 1,
  checks: [{ title: "All slices of generation 3 are there", holds: false, detail: "1 of 2 slices" }, { title: "kube-scheduler can use the pool", holds: true, detail: "" }],
  findings: [{ resourceSlice: "n1-a", severity: "warning", rule: "CC017", field: "spec.pool.resourceSliceCount", message: "resourceSliceCount is 2, but generation 3 of the pool has 1 slice", hint: "publish it" }],
  moreFindings: 1, unseen: 2, releases: ["1.34", "1.35", "1.36", "1.37"],
  dropped: [{ release: "1.34", fields: [{ field: "spec.devices[].taints", places: 3 }] }],
});

/** A device in parts: all of it, halves and quarters by columns; the second one by its memory alone, with groups. */
const part = (device, columns, memory, more) => ({ device, status: "free", tainted: false, shares: { memory, ...Object.fromEntries(columns.map((each) => [`slice-${each}`, 1])) }, groups: [], ...more });
const PARTITIONS = [
  part("full", [0, 1, 2, 3], 1, { status: "counters used up" }), part("half-0", [0, 1], 0.5, { status: "counters used up" }), part("half-1", [2, 3], 0.5),
  ...[0, 1, 2, 3].map((each) => part(`quarter-${each}`, [each], 0.25, each === 0 ? { status: "allocated" } : {})),
];
const BY_MEMORY = [part("large", [], 0.7, { groups: ["mig"] }), part("small-0", [], 0.3, { groups: ["vgpu", "mig"], tainted: true }), part("small-1", [], 0.3, { groups: ["vgpu"] })];
const counterSet = (name, partitions, columns) => ({ name, counters: [{ name: "memory", total: "40Gi" }, ...columns.map((each) => ({ name: `slice-${each}`, total: "1" }))], partitions, morePartitions: 0 });
const partitions = ({ driver, pool }) => ({
  driver, pool,
  counterSets: [counterSet("gpu-0", PARTITIONS, [0, 1, 2, 3]), counterSet("gpu-1", BY_MEMORY, [])],
  moreCounterSets: 2,
  pairs: [
    { counterSets: ["gpu-0"], moreCounterSets: 6, devices: ["full", "half-0", "quarter-0"], refused: [{ first: 0, second: 1, reason: "gpu-0: memory needs 20Gi, 0 left" }, { first: 1, second: 2, reason: "gpu-0: slice-0 needs 1, 0 left" }], moreDevices: 4 },
    { counterSets: ["gpu-7"], moreCounterSets: 0, devices: ["a", "b"], refused: [], moreDevices: 0 },
  ],
  unfinished: true,
});
const beside = ({ devices }) => ({ refused: devices.includes("half-0") ? ["full", "quarter-0", "quarter-1"].map((device) => ({ device, reason: "gpu-0: slice-0 needs 1, 0 left" })) : [], moreRefused: 0 });

const run = (objective, placed, more) => ({
  objective, placed, nodesUsed: 2, fragmentation: FRAGMENTATION, morePlacements: 3,
  placements: [{ pod: "Deployment default/d-0", node: "n1", devices: ["gpu-0", "gpu-1"].map((device) => ({ claim: "default/g", request: "gpu", driver: "gpu.example.com", pool: "n1", device })) }, { pod: "Deployment default/d-1", node: null, reason: "0/3 nodes are available" }],
  ...more,
});
const simulateText = ({ text }) =>
  text.includes("kind")
    ? {
        pods: 5, runs: [run("kube-scheduler", 4), run("best-fit", 5, { fragmentation: null })], problems: [{ object: "Pod default/p", problem: "has no name" }],
        waiting: [{ object: "Pod default/q", missing: "ResourceClaim x" }], unplaced: [{ pods: ["Deployment default/d-1"], reason: "0/3 nodes are available", causes: ["request gpu finds 1 of 2 devices"] }],
        notes: ["Checked: devices."], moreObjects: 2, unknownClasses: [], failures: [],
      }
    : { refused: 422, error: "nothing in it requests devices" };

function answers(found, devices, more = {}) {
  const waiting = found.findings.filter((each) => each.code === "CD001").reduce((sum, each) => sum + each.objects.length, 0);
  return {
    cluster: () => cluster({ waiting, ...more }),
    doctor: () => found,
    explain: ({ namespace, name }) => EXPLAINED[`${namespace}/${name}`] ?? EXPLAINED["team-a/train"],
    map: () => devices,
    capacity,
    "capacity.csv": () => ({ text: "class,driver\r\n" }),
    "changed-capacity": changedCapacity,
    "new-nodes": newNodes,
    room,
    validate,
    fix,
    "explain-text": explainText,
    "simulate-text": simulateText,
    remedy,
    pools,
    pool,
    partitions,
    beside,
    node,
    device: ({ driver, pool, device: name }) => device(driver, pool, name),
    select,
  };
}

/** 5,000 nodes with 8 devices each, in so many groups of equal ones. */
const large = (groups) => map(Array.from({ length: groups }, (_, index) => group(index * Math.ceil(5000 / groups), Math.ceil(5000 / groups), spread(index))));

export const EVIL = [
  '<img src=x onerror="document.title=\'owned\'">',
  "<script>document.title='owned'</script>",
  "javascript:document.title='owned'",
  "\u202Egnp.exe\u202C \u2066x\u2069 \u200Bzero\u0000\u0007\u001B[31m\u0085\uD800",
  "../../%2e%2e/#/findings?a=b&c=d%zz",
  "constructor",
  "x".repeat(65_536),
  "مرحبا",
];

/** What is left when every text of an answer is a stranger's; `kinds` of the API stay. */
function hostile() {
  const [markup, script, address, bidi, path, builtIn, long, arabic] = EVIL;
  const objects = EVIL.map((name) => ({ kind: "Pod", namespace: name, name }));
  const explained = structuredClone(EXPLAINED["team-a/train"]);
  Object.assign(explained.objects[0], { name: markup, namespace: script, said: EVIL.join(" "), holders: EVIL, findings: EVIL, kubeSchedulerWouldSay: EVIL.join(" ") });
  explained.objects[0].remedies = EVIL.map((text) => ({ kind: "release", text, subject: text, nodes: 8, names: EVIL, who: "user", value: text }));
  explained.objects[0].remedies.push({ kind: "count", text: "with a count of 3 or less", subject: markup, nodes: 1, names: [markup], who: "user", value: 3 });
  for (const request of explained.objects[0].nodeKinds[0].requests) {
    Object.assign(request, { request: markup, claim: long, deviceClass: bidi });
    request.steps.forEach((step) => Object.assign(step, { title: script, about: EVIL.join("\n"), lost: EVIL.map((text) => ({ text, reason: text, devices: 1 })) }));
  }
  explained.objects[0].nodes.excluded = EVIL.map((each) => ({ node: each, reason: each }));
  explained.notes = EVIL;
  const strange = (driver, pool, name) => ({
    ...device(driver, pool, name),
    problem: EVIL.join(" "),
    attributes: Object.fromEntries(EVIL.map((each) => [each, { string: each, ...from(each, each), hides: [{ string: each, ...from(each, each) }] }])),
    capacity: Object.fromEntries(EVIL.map((each) => [each, { value: each, left: each, ...from(each, each) }])),
    fills: EVIL.map((each) => ({ capacity: each, total: each, used: 0.5, step: each, ticks: [each, "default", "min", "max", "value"].map((kind) => ({ kind, amount: each, place: 0.5 })) })),
    counters: EVIL.map((each) => ({ counterSet: each, counter: each, takes: each, left: each, total: null })),
    taints: EVIL.map((each) => ({ key: each, value: each, effect: each, ...from(each, each) })),
    claims: EVIL.map((each) => ({ namespace: each, name: each, request: each, pods: [each], others: [each] })),
    ...Object.fromEntries(EVIL.map((each) => [`more ${each}`, each])),
  });
  const groups = EVIL.map((name) => ({ count: 1, names: [name], closed: name, devices: EVIL.map((each, index) => ({ kind: index, name: each, status: index ? "free" : each })) }));
  return {
    cluster: () => cluster({ source: EVIL.join(" "), kubeVersion: markup, notes: EVIL, failures: EVIL.map((each) => ({ file: each, message: each })) }),
    doctor: () => ({
      findings: EVIL.flatMap((each) => [finding("CD001", each, "error", each, objects, each, each), finding(each, each, each === address ? each : "note", each, objects, each, each)]),
      unfinished: EVIL,
      unread: [{ kind: path, reason: builtIn }, arabic],
      failures: EVIL.map((each) => ({ file: each, message: each })),
    }),
    explain: () => explained,
    map: () => ({ version: 1, kinds: EVIL.map((driver) => ({ driver, count: 8, attributes: { [driver]: driver } })), groups, elsewhere: groups }),
    capacity: () => ({
      ...capacity(),
      nodeKinds: EVIL.map((each) => ({ node: each, nodes: 1, devices: [{ driver: each, model: each, devices: 1 }] })),
      models: EVIL.map((each) => stock({ driver: each, model: each, near: EVIL.map((by) => ({ by, sets: [{ size: 2, count: 1 }] })), stranded: [{ reason: each, devices: 1 }] })),
      classes: EVIL.map((each) => stock({ deviceClass: each })),
      unfinished: EVIL,
      fragmentation: { partitions: EVIL.map((each) => ({ ...FRAGMENTATION.partitions[0], driver: each, partition: each })), shares: EVIL.map((each) => ({ ...FRAGMENTATION.shares[0], driver: each, capacity: each })) },
      requesting: EVIL.map((each) => ({ kind: each, namespace: each, name: each })),
    }),
    room: () => ({ object: EVIL.join(" "), objectives: EVIL.map((each) => objective(each, 1, { reason: each, nodes: EVIL, order: EVIL.map((_, place) => place) })) }),
    "changed-capacity": () => ({
      ...changedCapacity({}),
      models: EVIL.map((each) => stock({ driver: each, model: each, held: 1, stranded: [{ reason: each, devices: 1 }] })),
      leaving: EVIL, moreLeaving: 1,
    }),
    "new-nodes": () => ({ ...newNodes({ copies: 9 }), placedWithout: 1, ways: [...EVIL, "n9"].map((like) => ({ nodes: [{ like, count: 1 }], total: 1, left: 0 })) }),
    validate: () => ({ summary: EVIL.join(" "), findings: EVIL.map((each) => textFinding({ severity: each, rule: each, field: each, message: each, hint: each, object: each })), moreFindings: 2, failures: [] }),
    fix: () => ({ refused: 422, error: EVIL.join(" ") }),
    "explain-text": () => ({ ...explained, moreObjects: 0 }),
    remedy: () => ({
      ...remedy(),
      remedy: explained.objects[0].remedies[0],
      node: markup,
      devices: EVIL.map((each) => ({ driver: each, pool: each, device: each })),
      changes: EVIL.map((each) => ({ driver: each, pool: each, device: each, nodeName: each, before: each, after: each })),
      map: { kinds: EVIL.map((driver) => ({ driver, count: 8, attributes: {} })), groups, elsewhere: groups },
    }),
    pools: () => ({ pools: EVIL.map((each) => poolShort({ driver: each, pool: each, problems: [each] })), morePools: 1 }),
    pool: () => ({
      ...pool({ driver: markup, pool: script }),
      slices: EVIL.map((each) => ({ name: each, generation: 1, resourceSliceCount: 1, devices: 1, nodeName: each })),
      checks: EVIL.map((each) => ({ title: each, holds: false, detail: each })),
      findings: EVIL.map((each) => ({ resourceSlice: each, severity: each, rule: each, field: each, message: each, hint: each })),
      releases: EVIL,
      dropped: EVIL.map((each) => ({ release: each, fields: EVIL.map((field) => ({ field, places: 1 })) })),
    }),
    "simulate-text": () => ({
      ...simulateText({ text: "kind" }),
      runs: EVIL.map((each) => run(each, 1, { placements: EVIL.map((pod) => ({ pod, node: pod, devices: EVIL.map((device) => ({ driver: device, pool: device, device })) })), fragmentation: { partitions: EVIL.map((partition) => ({ driver: partition, partition, placeable: 1 })), shares: [] } })),
      problems: EVIL.map((each) => ({ object: each, problem: each })), waiting: EVIL.map((each) => ({ object: each, missing: each })), unplaced: EVIL.map((each) => ({ pods: EVIL, reason: each, causes: EVIL })), notes: EVIL,
    }),
    partitions: ({ driver, pool }) => ({
      driver, pool,
      counterSets: EVIL.map((each) => ({ name: each, counters: EVIL.map((name) => ({ name, total: each })), partitions: EVIL.map((device) => ({ device, status: each, tainted: true, shares: Object.fromEntries([[each, 1]]), groups: EVIL })), morePartitions: 1 })),
      moreCounterSets: 1,
      pairs: [{ counterSets: EVIL, moreCounterSets: 1, devices: EVIL, refused: EVIL.map((reason, first) => ({ first, second: first + 1, reason })), moreDevices: 1 }],
      unfinished: true,
    }),
    beside: () => ({ refused: EVIL.map((each) => ({ device: each, reason: each })), moreRefused: 1 }),
    node: ({ name }) => ({ name, closed: name, devices: EVIL.map((each) => strange(each, each, each)) }),
    device: ({ driver, pool, device: name }) => strange(driver, pool, name),
    select: ({ expression }) => ({ kinds: [0], failing: EVIL.map((error, kind) => ({ kind, error })), error: expression.includes("!") ? { message: EVIL.join(" "), line: 1, column: 2, hint: EVIL.join(" ") } : null }),
  };
}

export const clusters = {
  one: answers(doctor(WAITS), BUSY, { nodes: 1, devices: 1, free: 0, isLive: true }),
  busy: answers(
    doctor(
      WAITS,
      finding("CD001", "pod-waits", "error", "does not fit on n1: request gpu finds 0 of 1 device: too little is left in its counter set: gpu-0 (memory needs 20Gi, 10Gi left); held by pod default/notebook (claim notebook)", [...pods("default", "train", 1), ...pods("default", "sweep", 11)], "it would fit if pod default/notebook ended, which uses claim notebook (on n1)"),
      finding("CD001", "pod-waits", "error", 'does not fit on n1: no device has model "A100"; did you mean "a100"?', pods("team-c", "infer", 1), 'it would fit with "a100" instead of "A100" in a selector of request gpu of claim default/train-gpu (on n1)'),
      ...OTHERS,
    ),
    BUSY,
    { notes: ["No Pods on nodes are known, so all that nodes have counts as free."] },
  ),
  quiet: answers(doctor(...OTHERS), BUSY),
  empty: answers(doctor(), map([]), { nodes: 0, devices: 0, free: 0, source: "empty.yaml" }),
  large: answers(doctor(WAITS), large(12), { nodes: 5000, devices: 40_000 }),
  different: answers(doctor(WAITS), large(5000), { nodes: 5000, devices: 40_000 }),
  hostile: hostile(),
};
