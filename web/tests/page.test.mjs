// The page in a browser, over the answers of clusters.mjs.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { inaccessible, look } from "./browser.mjs";
import { clusters, EVIL } from "./clusters.mjs";
import { serve, STATIC } from "./fake_server.mjs";

const WEB = fileURLToPath(new URL("..", import.meta.url));
const VIEWS = ["#/waiting", "#/waiting/default/train", "#/devices", "#/devices/node/n1", "#/devices/device/gpu.example.com/n1/gpu-0", "#/waiting/team-a/train/try/0", "#/capacity", "#/pools", "#/pools/gpu.example.com/n1", "#/try", "#/findings", "#/none"];
const STRANGE = [...VIEWS.slice(0, 3), "#/capacity", "#/try", "#/waiting/a/b/try/0", "#/pools", "#/pools/a/b"].concat(`#/waiting/${encodeURIComponent(EVIL[0])}/x`, `#/devices/node/${encodeURIComponent(EVIL[1])}`, `#/devices/device/${EVIL.slice(0, 3).map(encodeURIComponent).join("/")}`, "#/findings");
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\u115f\u1160\u2800\u3164\uffa0]/u;

/** A page that shows a view of a cluster. */
async function open(t, cluster, hash, options = {}) {
  const server = typeof cluster === "string" ? await serve(clusters[cluster]) : cluster;
  t.after(() => server.close());
  return { page: await look(t, server.address + hash, options), server };
}

/** Asks what can be asked in a view, and waits for the answers. */
const ASKED = {
  "#/capacity": async (page) => {
    await page.getByLabel("Change").selectOption("objects that I paste");
    await page.getByLabel("ResourceSlicePatches").fill("kind: DeviceTaintRule");
    await page.getByText("pods would leave").waitFor();
    await page.getByLabel("Like").selectOption("what I paste");
    await page.getByLabel("A claim, template").fill("kind: ResourceClaim");
    await page.getByText("more like").first().waitFor();
    await page.getByRole("button", { name: "What to buy" }).click();
    await page.getByRole("table", { name: "What to buy" }).waitFor();
    await page.getByRole("rowheader", { name: /after the change/ }).first().waitFor();
  },
};

ASKED["#/pools/gpu.example.com/n1"] = async (page) => {
  await page.getByRole("button", { name: "half-0: counters used up" }).click();
  await page.getByText("3 others cannot be used").waitFor();
  await page.getByText("Why 2 pairs cannot").click();
};
ASKED["#/pools/a/b"] = async (page) => {
  await page.getByRole("button", { name: /^مرحبا/ }).first().click();
  await page.getByText("9 others cannot be used").waitFor();
};
ASKED["#/try"] = async (page) => {
  await page.locator(".cm-content").fill("kind: ResourceClaim\nspec:\n  a: deviceClassname\n");
  await page.getByRole("button", { name: "Fix it" }).first().waitFor();
  await page.locator("article .sentence").first().waitFor();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("table", { name: "How many would be placed" }).waitFor();
};

const text = (page, selector = "main") => page.locator(selector).first().innerText();
const narrow = { viewport: { width: 360, height: 740 } };

test("the bundle is what the sources build, the same every time, and small", (t) => {
  const target = mkdtempSync(`${tmpdir()}/page-`);
  t.after(() => rmSync(target, { recursive: true }));
  execFileSync(process.execPath, ["build.mjs", target], { cwd: WEB });
  assert.deepEqual(readdirSync(target).sort(), readdirSync(STATIC).sort());
  let [size, editor] = [0, 0];
  for (const file of readdirSync(target)) {
    const built = readFileSync(`${target}/${file}`);
    assert.ok(built.equals(readFileSync(`${STATIC}/${file}`)), `${file}: run "make page"`);
    if (file === "editor.js") editor = gzipSync(built).length;
    else size += gzipSync(built).length;
  }
  t.diagnostic(`first load: ${(size / 1000).toFixed(1)} kB with gzip, ${((size + editor) / 1000).toFixed(1)} kB with the editor`);
  assert.ok(size < 60_000);
  assert.ok(size + editor < 250_000);
});

test("what is invisible or changes the direction of text is written out, and long texts are cut", async () => {
  const { outputFiles } = await build({ entryPoints: [`${WEB}/src/text.tsx`], bundle: true, format: "esm", write: false, jsx: "automatic", jsxImportSource: "preact" });
  const { shown, hasInvisible, sentence, counted } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
  const cases = {
    "plain ä € 😀": "plain ä € 😀",
    "": "",
    "\u202Egnp": "‹U+202E›gnp",
    "a\u0000b\u001B[31m\u0085": "a‹U+0000›b‹U+001B›[31m‹U+0085›",
    "\u2066\u2069\u200E\u200F\u061C": "‹U+2066›‹U+2069›‹U+200E›‹U+200F›‹U+061C›",
    "\u200B\uFEFF\u00AD\u2028": "‹U+200B›‹U+FEFF›‹U+00AD›‹U+2028›",
    "\uD800": "‹U+D800›",
    "\u{E0041}": "‹U+E0041›",
    [`${"x".repeat(1_000)}yz`]: `${"x".repeat(1_000)}… (2 more characters)`,
    [`${"x".repeat(999)}😀`]: `${"x".repeat(999)}\uFFFD… (1 more characters)`,
  };
  for (const [given, want] of Object.entries(cases)) assert.equal(shown(given), want);
  assert.ok(hasInvisible("ls\nrm"));
  assert.ok(!hasInvisible("ls"));
  assert.equal(sentence("it waits"), "It waits.");
  assert.equal(counted(5_000, "node"), "5,000 nodes");
});

const SAYS = [
  ["one", "#/waiting", "Waiting pods", ["1 pod waits", "Does not fit on n1: request gpu finds 0 of 1 device: held by pod team-b/api-5d-x", "scaled down to 0", "live"]],
  ["busy", "", "Waiting pods", ["14 pods wait, for 3 reasons", "112 nodes", "899 devices", "306 free", "12 pods", "7 others"]],
  ["quiet", "#/waiting", "Waiting pods", ["No pod waits for devices", "3 other findings", "Lacks slices of its newest generation."]],
  ["empty", "#/waiting", "Waiting pods", ["No pod waits for devices", "no other findings either"]],
  ["busy", "#/waiting/default/train", "default/train", ["too little is left in its counter set", "if pod default/notebook ended", "the pod’s owner", "allocated devices", "−1 held by pod default/notebook", "on n1: pod default/notebook", "0/1 nodes are available"]],
  ["busy", "#/waiting/team-c/infer", "team-c/infer", ['did you mean "a100"?', "the selector", 'device.attributes["gpu.example.com"].model == "a100"', "Copy"]],
  ["busy", "#/devices", "Devices", ["n2", "96 nodes", "3 of 8 free", "counters used up 2", "tainted 112", "closed: taint"]],
  ["busy", "#/devices/node/n110", "Node n110", ["taint node.kubernetes.io/unschedulable", "8 devices", "gpu-0", "counters used up, tainted", "team-b/api-5d-x", "model H100"]],
  ["busy", "#/devices/node/n1", "Node n1", ["Partitions of n1", "gpu-0 memory 40Gi, slice-0 1", "quarter-3"]],
  ["busy", "#/devices/device/gpu.example.com/n1/gpu-0", "Device gpu-0", ["allocated", "team-b/api-gpu", "12.4.1 version", "instead of 12.4.0 from ResourceSlice", "ResourceSlicePatch versions", "80Gi", "88% in use of 80Gi", "A request takes 10Gi if it does not say how much; from 10Gi to 40Gi in steps of 10Gi.", "0% in use of 16", "A request takes 4 and 8.", "40Gi", "example.com/overheated:NoSchedule"]],
  ["busy", "#/findings", "Findings", ["6 findings", "Errors 4", "Warnings 1", "Notes 1", "CD010 incomplete-pool", "claimcheck devices --driver=gpu.example.com"]],
  ["busy", "#/capacity", "Capacity", ["H100 gpu.example.com", "8 on a node", "2 on a pcieRoot", "3 node cordoned", "big-gpu", "no time to ask the selectors of slow", "1g.10gb"]],
  ["busy", "#/pools", "Pools", ["6 pools", "n1 gpu.example.com", "1 of 2", "All slices of generation 3 are there: no", "and 4 others"]],
  ["busy", "#/pools/gpu.example.com/n1", "Pool n1", ["All slices of generation 3 are there 1 of 2 slices", "CC017", "publish it", "1.34", "spec.devices[].taints", "n1-old"]],
  ["empty", "#/devices", "Devices", ["There are no such devices."]],
  ["empty", "#/findings", "Findings", ["Nothing is wrong that can be seen here"]],
  ["busy", "#/%zz", "No such view", ["There is no such view"]],
];
for (const [cluster, hash, title, parts] of SAYS) {
  test(`${cluster} ${hash || "/"} says what it should`, async (t) => {
    const { page } = await open(t, cluster, hash);
    assert.equal(await page.title(), `${title} – Claimcheck`);
    const said = (await text(page, "body")).replace(/\s+/g, " ");
    for (const part of parts) assert.ok(said.includes(part), `no "${part}" in: ${said}`);
  });
}

test("from the list of causes to a pod and back is a click each", async (t) => {
  const { page } = await open(t, "busy", "");
  await page.getByRole("button", { name: "7 others" }).click();
  await page.getByRole("link", { name: "default/sweep-10" }).waitFor();
  await page.getByRole("link", { name: "team-a/train" }).click();
  await page.getByRole("heading", { level: 1, name: /^Does not fit on n1: .* held by pod team-b/ }).waitFor();
  await page.getByRole("link", { name: "Waiting pods" }).click();
  await page.getByRole("heading", { name: "14 pods wait" }).waitFor();
});

test("a selector lights up what it chooses, and says where it is wrong", async (t) => {
  const { page } = await open(t, "busy", "#/devices");
  const box = page.getByLabel("Selector in CEL");
  await box.fill('device.driver == "gpu.example.com"');
  await page.getByText(/Chooses 45. devices: 1 of 3 kinds/).waitFor();
  await page.getByText("Fails for 112 devices of nic.example.com: no such key: model").waitFor();
  assert.ok((await page.locator(".squares .dim").count()) > 0);
  await box.fill("true &&\n  dev?ice");
  await page.getByText("token recognition error").waitFor();
  assert.equal(await page.locator(".caret").textContent(), "  dev?ice\n     ^");
  await page.getByText("leave it out (line 2, character 6)").waitFor();
  assert.equal(await box.getAttribute("aria-invalid"), "true");
  await box.fill("");
  await page.getByText("Lights up").waitFor();
  assert.equal(await page.locator(".squares .dim").count(), 0);
});

/** The table that a button saves. */
async function saved(page, name) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
  return [file.suggestedFilename(), readFileSync(await file.path(), "utf-8")];
}

test("it is counted how many more of something fit, where so many come, and the figures can be taken along", async (t) => {
  const { page } = await open(t, "busy", "#/capacity");
  await page.getByLabel("Like").selectOption("ResourceClaimTemplate team-a/gpu");
  await page.getByText("12 first-fit, at least 1,000 best-fit: more like ResourceClaimTemplate team-a/gpu.").waitFor();
  await page.getByLabel("Of these").fill("10");
  await page.getByRole("row", { name: "first-fit 12 fit 2 nodes: n1 (8) and n2 (2)" }).waitFor();
  await page.getByLabel("Of these").fill("15");
  await page.getByRole("row", { name: /^first-fit .* 3 do not fit 0\/3 nodes are available\./ }).waitFor();
  assert.deepEqual(await saved(page, "Download where they come as CSV"), [
    "room.csv",
    "like,placed,fit in all,wanted,node,copies\r\n" +
      ["first-fit,12,15,n1,8", "first-fit,12,15,n2,4", "best-fit,1000,15,n1,8", "best-fit,1000,15,n2,7"].map((row) => `ResourceClaimTemplate team-a/gpu,${row}\r\n`).join(""),
  ]);
  await page.getByLabel("Like").selectOption("a claim for devices of a class");
  assert.equal(await page.locator("label", { hasText: /^Class/ }).locator("select").inputValue(), "big-gpu");
  await page.getByLabel("Devices in each").fill("4");
  await page.getByText("more like ResourceClaim default/4-of-big-gpu").waitFor();
  await page.getByLabel("Like").selectOption("what I paste");
  await page.getByLabel("A claim, template").fill("no object");
  await page.getByText("Nothing in it requests devices.").waitFor();
  assert.deepEqual(await saved(page, "Download as CSV"), ["capacity.csv", "class,driver\r\n"]);
});

test("a change is tried on the figures, and on how many more fit", async (t) => {
  const { page, server } = await open(t, "busy", "#/capacity");
  await page.getByLabel("Like").selectOption("ResourceClaimTemplate team-a/gpu");
  await page.getByLabel("Change").selectOption("objects that I paste");
  await page.getByLabel("ResourceSlicePatches").fill("other");
  await page.getByText("What can be tried are DeviceClass, DeviceTaintRule.").waitFor();
  await page.getByLabel("ResourceSlicePatches").fill("kind: DeviceTaintRule");
  await page.getByText("3 pods would leave: team-b/api-5d-x and 2 others.").waitFor();
  await page.getByRole("row", { name: "H100 gpu.example.com 96 then 120 40 53 then 61 40 then 64 3 node cordoned then 8 tainted" }).waitFor();
  await page.getByRole("row", { name: /^new 0 then 96/ }).waitFor();
  await page.getByLabel("Change").selectOption("a node is cordoned");
  await page.getByLabel("Node", { exact: true }).fill("n1");
  await page.getByRole("row", { name: /^best-fit, after the change 9/ }).waitFor();
  const asked = [];
  server.answers = { ...clusters.busy, "changed-capacity": (question) => (asked.push(question), clusters.busy["changed-capacity"](question)) };
  await page.getByLabel("Change").selectOption("new nodes");
  await page.getByLabel("As there are").selectOption("n1: 7 H100, 1 nic.example.com (110 nodes)");
  await page.getByLabel("New nodes", { exact: true }).fill("12");
  await page.waitForFunction(() => document.querySelector("output").textContent === "12");
  await page.getByText("pods would leave").waitFor();
  await page.waitForTimeout(400);
  assert.deepEqual(asked.at(-1), { like: "n1", nodes: "12" });
  await page.getByLabel("Change").selectOption("nothing");
  await page.getByText("pods would leave").waitFor({ state: "detached" });
});

test("what to buy has prices that no server is told", async (t) => {
  const { page } = await open(t, "busy", "#/capacity");
  const asked = [];
  page.on("request", (request) => asked.push(request.url() + request.postData()));
  await page.getByLabel("Like").selectOption("ResourceClaimTemplate team-a/gpu");
  await page.getByLabel("Of these").fill("15");
  await page.getByRole("button", { name: "What to buy for 15 of them" }).click();
  await page.getByText("12 of 15 fit without new nodes.").waitFor();
  await page.getByLabel("Price of n1:").fill("98765.5");
  await page.getByLabel("Price of n110").fill("10");
  await page.getByRole("row", { name: "3 × n1: 7 H100, 1 nic.example.com 3 0 296,296.5" }).waitFor();
  await page.getByRole("row", { name: /3 1 98,785\.5$/ }).waitFor();
  const [name, text] = await saved(page, "Download what to buy as CSV");
  assert.equal(name, "new-nodes.csv");
  assert.equal(text.split("\r\n")[1], '1,"n1: 7 H100, 1 nic.example.com",3,98765.5,296296.5,0');
  assert.deepEqual(asked.filter((each) => each.includes("98765")), []);
});

test("no text of a table is a formula for a spreadsheet", async () => {
  const { outputFiles } = await build({ entryPoints: [`${WEB}/src/csv.ts`], bundle: true, format: "esm", write: false, jsx: "automatic", jsxImportSource: "preact" });
  const { csv } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
  assert.equal(csv([["=1", "+a", "-b", "@c", "\td", "\re", -1, 'x"y', "a,b", "a\nb"]]), `'=1,'+a,'-b,'@c,‹U+0009›d,‹U+000D›e,-1,"x""y","a,b",a‹U+000A›b\r\n`);
});

test("what is typed is checked as one types, fixed on a click, and kept in the address alone", async (t) => {
  const { page, server } = await open(t, "busy", "#/try");
  const box = page.locator(".cm-content");
  await box.waitFor();
  const scripts = await page.evaluate(() => performance.getEntriesByType("resource").map((each) => new URL(each.name).pathname));
  assert.ok(scripts.includes("/editor.js"));
  await box.fill("kind: ResourceClaim\nspec:\n  deviceClassname: ä😀\n");
  await page.getByText("did you mean `deviceClassName`?").first().waitFor();
  await page.locator(".said-error").waitFor();
  await page.getByRole("button", { name: "line 3" }).first().click();
  assert.equal(await page.evaluate(() => document.activeElement.shadowRoot.activeElement.className.includes("cm-content")), true);
  await page.getByRole("button", { name: "Fix it" }).click();
  await page.getByText("1 object: 1 valid").waitFor();
  assert.ok((await box.innerText()).includes("deviceClassName: ä😀"));
  await page.getByText('did you mean "a100"?').first().waitFor();
  await page.waitForFunction(() => location.hash.length > 10);
  const link = await page.evaluate(() => location.href);
  const { page: other } = await open(t, server, new URL(link).hash);
  await other.locator(".cm-content", { hasText: "deviceClassName: ä😀" }).waitFor();
  const { page: wrong } = await open(t, server, "#/try/AAAA!");
  await wrong.locator(".cm-content", { hasText: "this address has no text that can be read" }).waitFor();
  const bomb = await page.evaluate(async () => {
    const packed = await new Response(new Blob(["a".repeat(50_000_000)]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer();
    return btoa(Array.from(new Uint8Array(packed), (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_");
  });
  await wrong.evaluate((to) => (location.hash = `#/try/${to}`), bomb);
  await wrong.waitForTimeout(500);
  assert.ok((await wrong.locator(".cm-content").innerText()).length < 1_000);
});

test("all of what is typed is placed when one asks for it", async (t) => {
  const { page } = await open(t, "busy", "#/try");
  await page.locator(".cm-content").fill("kind: ResourceClaim\n");
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("row", { name: "kube-scheduler 4 of 5 2 9" }).waitFor();
  await page.getByRole("row", { name: "best-fit 5 of 5 2 ?" }).waitFor();
  await page.getByRole("row", { name: "Deployment default/d-0 n1 gpu-0 gpu-1" }).waitFor();
  await page.getByText("Request gpu finds 1 of 2 devices.").waitFor();
  await page.getByText("2 other objects were not looked at.").waitFor();
  await page.locator(".cm-content").fill("else\n");
  await page.getByText("Nothing in it requests devices.").nth(1).waitFor();
});

test("a remedy of a pod is tried on the map", async (t) => {
  const { page } = await open(t, "busy", "#/waiting/team-a/train");
  await page.getByRole("link", { name: "Try it on the map" }).first().click();
  await page.getByRole("heading", { level: 1, name: "It gets gpu-5 on n2" }).waitFor();
  await page.getByText("nothing is changed in the cluster").waitFor();
  await page.getByRole("row", { name: "gpu-5 n2 free allocated" }).waitFor();
  assert.ok((await page.locator(".map .tile").count()) > 3);
  await page.getByRole("link", { name: "Pod team-a/train" }).click();
  await page.getByRole("heading", { name: /^Does not fit/ }).waitFor();
});

test("partitions grey out with the reason when others are chosen", async (t) => {
  const { page } = await open(t, "busy", "#/pools/gpu.example.com/n1");
  const box = async (name) => {
    const { x, y, width } = await page.getByRole("button", { name }).boundingBox();
    return { x: Math.round(x), y: Math.round(y), width: Math.round(width) };
  };
  const [full, half, quarter, next] = [await box("full: "), await box("half-1: "), await box("quarter-2: "), await box("quarter-3: ")];
  assert.ok(Math.abs(full.width - 2 * half.width) <= 2 && Math.abs(half.width - 2 * quarter.width) <= 2, "as wide as what they take");
  assert.ok(half.x === quarter.x && quarter.y === next.y && next.x > quarter.x && half.y > full.y, "where what they take is");
  const [large, small] = [await box("large: "), await box("small-0: ")];
  assert.ok(large.y === small.y && small.x >= large.x + large.width - 2, "side by side");
  await page.getByRole("button", { name: "half-0: " }).click();
  await page.getByText("With half-0 in use, 3 others cannot be used:").waitFor();
  const refused = page.getByRole("button", { name: "quarter-1: free; gpu-0: slice-0 needs 1, 0 left" });
  assert.equal(await refused.getAttribute("aria-disabled"), "true");
  await refused.click({ force: true });
  assert.equal(await refused.getAttribute("aria-pressed"), "false");
  await page.getByRole("button", { name: "half-0: " }).click();
  await page.getByText("cannot be used:").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Choose those in use" }).click();
  await page.getByText("With quarter-0 in use, all others can be used as well.").waitFor();
  await page.getByRole("button", { name: "Choose none" }).click();
  assert.deepEqual(await page.getByRole("row", { name: /^3 quarter-0/ }).getByRole("cell").getByRole("img").evaluateAll((all) => all.map((each) => each.ariaLabel)), ["yes", "no"]);
  await page.getByText("gpu-7: any two of 2 devices can.").waitFor();
  await page.getByText("Why 2 pairs cannot").click();
  await page.getByText("half-0 and quarter-0: gpu-0: slice-0 needs 1, 0 left").waitFor();
});

test("the map can be narrowed to a driver and to nodes, and leads to nodes and devices", async (t) => {
  const { page } = await open(t, "busy", "#/devices");
  await page.getByLabel("Driver").selectOption("nic.example.com");
  assert.equal(await page.locator(".map .mark").count(), 5);
  await page.getByLabel("Node").fill("n11");
  assert.deepEqual(await page.locator(".map .name").allInnerTexts(), ["n11", "n110", "n111"]);
  await page.getByLabel("Driver").selectOption("");
  await page.getByLabel("Node").fill("");
  await page.getByRole("link", { name: "gpu-2: shared, 70% in use" }).click();
  await page.getByRole("heading", { name: "gpu-2" }).waitFor();
  await page.goBack();
  await page.getByRole("link", { name: /^n110/ }).click();
  await page.getByRole("heading", { name: "n110", exact: true }).waitFor();
  await page.getByRole("link", { name: "gpu-3" }).click();
  await page.getByRole("heading", { name: "gpu-3" }).waitFor();
});

test("devices are shown apart by an attribute", async (t) => {
  const { page } = await open(t, "busy", "#/devices");
  await page.getByLabel("Apart by").selectOption("resource.kubernetes.io/pcieRoot");
  const tile = (name) => page.locator("a.tile").filter({ has: page.locator(".name", { hasText: /^n2$/ }) }).filter({ has: page.locator(".of", { hasText: name }) });
  assert.equal(await tile("pci0000:00").locator(".mark").count(), 4);
  assert.equal(await tile("pci0000:10").locator(".mark").count(), 3);
  assert.equal(await tile("without it").locator(".mark").count(), 1);
  await page.getByRole("button", { name: "Table" }).click();
  await page.getByRole("row", { name: /^n2 n3 94 others? pci0000:10 288 / }).waitFor();
  await page.getByRole("button", { name: "Map" }).click();
  await page.getByLabel("Apart by").selectOption("nothing");
  assert.equal(await page.locator("a.tile").count(), 5);
});

test("the table has what the map has, a hundred rows at a time", async (t) => {
  const { page } = await open(t, "different", "#/devices");
  assert.equal(await page.getByRole("img", { name: "Map of 40,000 devices" }).count(), 1);
  await page.getByRole("button", { name: "Table" }).click();
  assert.equal(await page.getByRole("table", { name: "Devices by node" }).locator("tbody tr").count(), 100);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("101 to 200 of 5,000").waitFor();
  await page.getByRole("link", { name: "n100", exact: true }).click();
  await page.getByRole("heading", { name: "n100", exact: true }).waitFor();
});

test("a square of a drawn map says what it is, and leads to its node", async (t) => {
  const { page } = await open(t, "different", "#/devices");
  const map = page.locator(".drawn");
  await map.hover({ position: { x: 3, y: 3 } });
  await page.getByText("n0 – gpu-0: free").waitFor();
  await map.click({ position: { x: 3, y: 3 } });
  await page.getByRole("heading", { name: "n0", exact: true }).waitFor();
});

test("what is shown changes with the cluster", async (t) => {
  const { page, server } = await open(t, "quiet", "");
  await page.getByText("No pod waits").waitFor();
  server.answers = clusters.one;
  server.tell();
  await page.getByRole("heading", { name: "1 pod waits" }).waitFor();
});

test("a command is copied; one with a line break or anything invisible is not offered", async (t) => {
  const { page } = await open(t, "busy", "#/findings", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.getByRole("button", { name: "Copy: claimcheck explain pod/train -n team-a" }).click();
  await page.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "claimcheck explain pod/train -n team-a");
  const { page: strange } = await open(t, "hostile", "#/findings");
  assert.equal(await strange.locator(".copy").filter({ hasText: "‹U+" }).getByRole("button").count(), 0);
});

test("without the token the page says what to do", async (t) => {
  const refuse = () => ({ refused: 401, error: "no" });
  const { page } = await open(t, await serve({ cluster: refuse, doctor: refuse }), "");
  await page.getByRole("heading", { name: "Open the address that claimcheck ui prints" }).waitFor();
});

test("people sign in with a token, which is tried before it is kept, and see what is not for them only where it would be", async (t) => {
  const given = new Set();
  const guarded = (answer) => (asked, authorization) => {
    given.add(authorization);
    if (authorization === "Bearer mine") return answer(asked);
    return { refused: 401, error: "the cluster does not take this token", headers: { "WWW-Authenticate": 'Bearer realm="Kubernetes"' } };
  };
  const refuse = () => ({ refused: 403, error: "this is not for you" });
  const { cluster, doctor } = clusters.busy;
  const { page } = await open(t, await serve({ cluster: guarded(cluster), doctor: guarded(doctor), capacity: guarded(refuse) }), "");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual([...given], [undefined]);
  assert.deepEqual(await inaccessible(page), []);
  const signIn = async (token) => {
    const reloaded = page.waitForEvent("load");
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await reloaded;
  };
  await signIn("of somebody");
  await page.getByText("The cluster does not take this token").waitFor();
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await signIn(" mine\n");
  await page.getByRole("heading", { name: "14 pods wait" }).waitFor();
  await page.getByRole("link", { name: "Capacity" }).click();
  await page.getByText("this is not for you").waitFor();
  await page.reload();
  await page.getByText("this is not for you").waitFor();
});

test("a tenant is shown what there is, and no more", async (t) => {
  const { cluster, doctor, map } = clusters.one;
  const published = (answer) => ({ ...answer, groups: answer.groups.map((each) => ({ ...each, devices: each.devices.map((device) => ({ ...device, status: "published" })) })), elsewhere: [] });
  const answers = {
    cluster: () => ({ ...cluster(), nodes: null, free: null, notes: ["You see what is published."] }),
    doctor: () => ({ ...doctor(), unread: ["You see what is published."] }),
    explain: ({ namespace, name }) => ({ objects: [{ kind: "Pod", namespace, name, verdict: "waits", said: "does not fit on n1" }], notes: [], failures: [] }),
    map: (asked) => published(map(asked)),
  };
  const { page } = await open(t, await serve(answers), "");
  await page.getByRole("heading", { name: "1 pod waits" }).waitFor();
  assert.doesNotMatch(await page.locator(".counts").innerText(), /free|node|null/);
  await page.getByRole("link", { name: "team-a/train" }).click();
  await page.getByRole("heading", { name: "Does not fit on n1" }).waitFor();
  assert.deepEqual(await inaccessible(page), []);
  await page.getByRole("link", { name: "Devices" }).click();
  await page.getByText("published; who holds it is not shown to you").waitFor();
  assert.deepEqual(await inaccessible(page), []);
});

test("what was said stays when the server has gone, and a new run of it asks for its address", async (t) => {
  const { page, server } = await open(t, "busy", "");
  await server.close();
  await page.getByText("claimcheck ui does not answer: this is the last that it said.").waitFor();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "14 pods wait" }).waitFor();
  const refuse = () => ({ refused: 401, error: "no" });
  const next = await serve({ cluster: refuse, doctor: refuse }, +new URL(server.address).port);
  t.after(() => next.close());
  await page.getByRole("button", { name: "Try again" }).or(page.getByRole("heading", { name: "Open the address" })).click();
  await page.getByRole("heading", { name: "Open the address that claimcheck ui prints" }).waitFor();
});

test("an error is said in the server's words, and can be tried again", async (t) => {
  const fail = () => ({ refused: 500, error: "the cluster could not be read" });
  const { page, server } = await open(t, await serve({ ...clusters.busy, explain: fail }), "#/findings");
  await page.goto(`${server.address}#/waiting/team-a/train`);
  await page.getByText("the cluster could not be read").waitFor();
  server.answers = clusters.busy;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: /^Does not fit/ }).waitFor();
});

for (const hash of STRANGE) {
  test(`strangers' texts are text in ${hash.slice(0, 40)}`, async (t) => {
    const { page } = await open(t, "hostile", hash, narrow);
    for (const summary of await page.locator("summary").all()) await summary.click();
    await ASKED[hash]?.(page);
    if (hash === "#/devices") {
      await page.getByLabel("Selector in CEL").fill("a!");
      await page.locator(".caret").waitFor();
      await page.getByLabel("Selector in CEL").fill("a");
      await page.getByText("Chooses").waitFor();
      await page.getByLabel("Apart by").selectOption({ index: 1 });
    }
    for (const isTable of hash === "#/devices" ? [false, true] : [false]) {
      if (isTable) await page.getByRole("button", { name: "Table" }).click();
      const found = await page.evaluate(() => ({
        title: document.title,
        strange: document.querySelectorAll("body img, body script:not([src='page.js']), body iframe, body style, body [style*=url]").length,
        handlers: [...document.querySelectorAll("body *")].flatMap((each) => each.getAttributeNames()).filter((name) => name.startsWith("on")),
        links: [...document.querySelectorAll("a")].map((each) => each.getAttribute("href")),
        loose: [...document.querySelectorAll("body *")]
          .flatMap((each) => [...each.childNodes])
          .filter((each) => each.nodeType === Node.TEXT_NODE && /owned|مرحبا/.test(each.data) && !each.parentElement.closest("bdi, option, pre, title"))
          .map((each) => each.data),
        text: document.body.textContent + [...document.querySelectorAll("[aria-label]")].map((each) => each.ariaLabel).join(""),
        width: document.documentElement.scrollWidth,
      }));
      assert.notEqual(found.title, "owned");
      assert.ok(!INVISIBLE.test(found.title));
      assert.equal(found.strange, 0);
      assert.deepEqual(found.handlers, []);
      assert.deepEqual(found.loose, []);
      assert.deepEqual(found.links.filter((href) => !href.startsWith("#/")), []);
      assert.doesNotMatch(found.text.replaceAll("\n", ""), INVISIBLE);
      assert.ok(found.width <= 360, `${found.width} px wide`);
    }
  });
}

test("links to strangers' names lead to what has that name", async (t) => {
  const { page, server } = await open(t, "hostile", "#/devices");
  const asked = [];
  server.answers = { ...clusters.hostile, node: ({ name }) => (asked.push(name), clusters.hostile.node({ name })) };
  const links = await page.locator("a.tile").evaluateAll((all) => all.map((each) => each.getAttribute("href")));
  for (const href of links) {
    if (href.length > 2_000) continue; // no server reads such an address
    await page.evaluate((to) => (location.hash = to), href);
    await page.getByText("No pods without tolerations").waitFor();
  }
  assert.deepEqual(asked, EVIL.filter((each) => each.length < 2_000).map((each) => each.toWellFormed()));
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in any view when it is ${colorScheme}`, async (t) => {
    for (const [cluster, hash] of [...VIEWS.map((hash) => ["busy", hash]), ["quiet", ""], ["large", "#/devices"], ["different", "#/devices"], ["empty", "#/devices"]]) {
      const { page } = await open(t, cluster, hash, { colorScheme });
      for (const state of hash === "#/devices" ? ["map", "wrong", "chosen", "apart", "table"] : [""]) {
        if (state === "wrong") await page.getByLabel("Selector in CEL").fill("a ? b");
        if (state === "wrong") await page.locator(".caret").waitFor();
        if (state === "chosen") await page.getByLabel("Selector in CEL").fill("true");
        if (state === "chosen") await page.getByText("Chooses").waitFor();
        if (state === "apart") await page.getByLabel("Apart by").selectOption({ index: Math.min(1, await page.getByLabel("Apart by").locator("option").count() - 1) });
        if (state === "table") await page.getByRole("button", { name: "Table" }).click();
        await ASKED[hash]?.(page);
        assert.deepEqual(await inaccessible(page), [], `${cluster} ${hash} ${state}`);
      }
    }
  });
}

for (const hash of VIEWS) {
  test(`the keyboard reaches everything in ${hash}`, async (t) => {
    const { page } = await open(t, "busy", hash);
    await ASKED[hash]?.(page);
    const all = await page.evaluate(() => {
      const found = [...document.querySelectorAll("a, button, input, select, textarea, summary")].filter((each) => !each.disabled && each.checkVisibility());
      found.forEach((each, index) => (each.dataset.index = index));
      return found.length;
    });
    await page.evaluate(() => document.querySelector(".skip").focus()); // the first
    const reached = new Set([await page.evaluate(() => document.activeElement.dataset.index)]);
    const editors = await page.locator(".editor").count(); // each takes a key, and has its frame for an outline
    for (let press = 1; press < all + editors; press += 1) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement.shadowRoot !== null)) continue;
      const { index, outline } = await page.evaluate(() => ({ index: document.activeElement.dataset.index, outline: getComputedStyle(document.activeElement).outlineStyle }));
      assert.notEqual(outline, "none");
      reached.add(index);
    }
    assert.equal(reached.size, all);
  });

  test(`${hash} has no horizontal scrolling at 360 px`, async (t) => {
    const { page } = await open(t, "busy", hash, narrow);
    await ASKED[hash]?.(page);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    if (hash !== "#/devices") return;
    await page.getByRole("button", { name: "Table" }).click();
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
  });
}

test("figures of a map of 40,000 devices", async (t) => {
  for (const cluster of ["large", "different"]) {
    const { page } = await open(t, cluster, "#/findings", { viewport: { width: 1400, height: 900 } });
    const { first, frames, worst } = await page.evaluate(async () => {
      const frame = () => new Promise(requestAnimationFrame);
      const start = performance.now();
      location.hash = "#/devices";
      while (!document.querySelector(".map .mark, .drawn canvas[style]")) await frame();
      await frame();
      const first = performance.now() - start;
      const times = [];
      let last = performance.now();
      while (times.length < 120) {
        scrollBy(0, 17);
        await frame();
        times.push(performance.now() - last);
        last = performance.now();
      }
      return { first, frames: 1000 / (times.reduce((sum, each) => sum + each) / times.length), worst: Math.max(...times) };
    });
    t.diagnostic(`${cluster}: first picture after ${first.toFixed(0)} ms, ${frames.toFixed(0)} frames per second while it scrolls, the longest ${worst.toFixed(0)} ms`);
  }
});
