// The page of the real `claimcheck ui`, over small clusters in files.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inaccessible, look } from "./browser.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The clusters in which somebody on call looks for the cause: in each one pod waits. */
const CLUSTERS = mkdtempSync(`${tmpdir()}/claimcheck-page-`);
after(() => rmSync(CLUSTERS, { recursive: true }));
execFileSync(`${ROOT}/.venv/bin/python`, ["-m", "tests.commandline.explain.on_call_files", CLUSTERS], { cwd: ROOT });
const CASES = JSON.parse(readFileSync(`${CLUSTERS}/cases.json`, "utf-8"));

/** Starts the command; its address. */
async function start(t, name, options = []) {
  const given = ["ui", "--no-config", "--port", "0", "--inventory", `${CLUSTERS}/${name}.yaml`, ...options];
  const command = spawn(`${ROOT}/.venv/bin/claimcheck`, given, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(async () => {
    command.kill("SIGTERM");
    if (command.exitCode === null) await once(command, "exit"); // whatever the page still reads
  });
  for await (const line of createInterface({ input: command.stdout })) {
    const [address] = /http:\S+/.exec(line) ?? [];
    if (address) return address;
  }
  throw new Error("claimcheck ui has ended without an address");
}

for (const { case: name, firstLine, options } of CASES) {
  test(`the true cause is a click away: ${name}`, async (t) => {
    const page = await look(t, await start(t, name, options));
    await page.getByRole("link", { name: /\/train$/ }).click();
    const sentence = await page.locator("h1.sentence").innerText();
    for (const words of firstLine) assert.ok(sentence.toLowerCase().includes(words.toLowerCase()), `${words}: ${sentence}`);
    await page.getByRole("heading", { name: /^(What would help|What else is wrong)$/ }).first().waitFor();
    assert.deepEqual(await inaccessible(page), []);
    const remedy = page.getByRole("link", { name: "Try it on the map" }).first();
    if ((await remedy.count()) === 0) return;
    await remedy.click();
    await page.getByRole("heading", { level: 1, name: /^It gets .+ on / }).waitFor();
  });
}

test("claimcheck ui checks, fixes and explains what is typed", async (t) => {
  const page = await look(t, await start(t, "misspelt-value"));
  await page.getByRole("link", { name: "Try" }).click();
  const claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: c\nspec:\n  devices:\n    requests:\n    - name: r\n      exactly:\n        deviceClassname: gpu\n";
  await page.locator(".cm-content").fill(claim);
  await page.getByRole("button", { name: "line 10" }).first().waitFor();
  await page.getByRole("button", { name: "Fix it" }).click();
  await page.getByText("1 object: 1 valid, 0 invalid").waitFor();
  await page.getByText("ResourceClaim default/c").first().waitFor();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByRole("row", { name: /^best-fit 0 of 1 0/ }).waitFor();
  await page.locator(".cm-content").fill(claim.replace("deviceClassname: gpu", "deviceClassName: gpu.example.com"));
  await page.getByRole("row", { name: /^best-fit 1 of 1 1/ }).waitFor();
  await page.getByRole("row", { name: /^ResourceClaim default\/c n1 / }).waitFor();
  assert.deepEqual(await inaccessible(page), []);
});

test("claimcheck ui counts how many more fit, as it is, after a change, and on new nodes", async (t) => {
  const page = await look(t, await start(t, "counters-exhausted"));
  await page.getByRole("link", { name: "Capacity" }).click();
  await page.getByLabel("Like").selectOption("ResourceClaim default/notebook");
  await page.getByText("0 first-fit, 0 best-fit: more like ResourceClaim default/notebook").waitFor();
  await page.getByLabel("Change").selectOption("new nodes");
  await page.getByLabel("As there are").selectOption({ index: 1 });
  await page.getByLabel("New nodes", { exact: true }).fill("3");
  await page.getByRole("row", { name: /^first-fit, after the change 3 / }).waitFor();
  await page.getByLabel("Of these").fill("2");
  await page.getByRole("button", { name: "What to buy for 2 of them" }).click();
  await page.getByText("0 of 2 fit without new nodes.").waitFor();
  await page.getByLabel("Price of n1").fill("1000");
  await page.getByRole("row", { name: /^2 × n1: .* 2 0 2,000$/ }).waitFor();
  assert.deepEqual(await inaccessible(page), []);
});

test("claimcheck ui greys out partitions that cannot be in use beside others", async (t) => {
  const page = await look(t, await start(t, "counters-exhausted"));
  await page.getByRole("link", { name: "Pools" }).click();
  await page.getByRole("link", { name: "n1" }).click();
  await page.getByRole("button", { name: "Choose those in use" }).click();
  await page.getByText("With a in use, 1 other cannot be used:").waitFor();
  await page.getByRole("button", { name: "b: counters used up; gpu-0: memory needs 20Gi, 10Gi left" }).waitFor();
  await page.getByText("Why 1 pair cannot").waitFor();
  assert.deepEqual(await inaccessible(page), []);
});

test("claimcheck ui shows devices, and what a selector chooses", async (t) => {
  const page = await look(t, await start(t, "counters-exhausted"));
  await page.getByRole("link", { name: "Devices" }).click();
  await page.getByRole("link", { name: /^n1/ }).waitFor();
  const box = page.getByLabel("Selector in CEL");
  await box.fill("device.drver");
  await page.getByText("did you mean `driver`?").waitFor();
  assert.match(await page.locator(".caret").textContent(), /^device\.drver\n +\^$/);
  await box.fill('device.driver == "gpu.example.com"');
  await page.getByText("Chooses 2 devices: 1 of 1 kind").waitFor();
  await page.getByRole("link", { name: /^n1/ }).click();
  await page.getByRole("row", { name: /^a .*allocated default\/notebook/ }).waitFor();
  await page.getByRole("link", { name: "b", exact: true }).click();
  await page.getByText("counters used up").waitFor();
  await page.getByRole("row", { name: "gpu-0 memory 20Gi 10Gi 40Gi" }).waitFor();
  await page.getByRole("link", { name: "Findings" }).click();
  await page.getByText("CD003 reserved-for-gone-pod").waitFor();
  assert.deepEqual(await inaccessible(page), []);
});

test("claimcheck ui shows nothing without the token of its address", async (t) => {
  const address = await start(t, "misspelt-value");
  const [origin] = address.split("#");
  for (const path of ["api/v1/doctor", "api/v1/changes", "other"]) assert.equal((await fetch(origin + path)).status, 401, path);
  const page = await look(t, address);
  assert.equal(await page.evaluate(() => location.href), origin);
  assert.deepEqual(await page.context().cookies(), []);
  await page.evaluate(() => localStorage.clear());
  await page.reload();
  assert.match(await page.locator("body").innerText(), /open the address that/i);
  await page.goto(address);
  await page.getByRole("link", { name: "default/train" }).waitFor();
});

test("a page of the web that opens claimcheck ui with another token signs nobody out", async (t) => {
  const address = await start(t, "misspelt-value");
  const page = await look(t, address);
  await page.getByRole("link", { name: "default/train" }).waitFor();
  const reloaded = page.waitForEvent("load");
  await page.goto(address.replace(/=.*/, "=of-somebody-else"));
  await reloaded;
  await page.getByRole("link", { name: "default/train" }).waitFor();
  await page.reload();
  await page.getByRole("link", { name: "default/train" }).waitFor();
});

test("claimcheck ui shows what could not be read", async (t) => {
  writeFileSync(`${CLUSTERS}/odd.yaml`, "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: odd}\nspec: 7\n");
  const page = await look(t, await start(t, "odd"));
  await page.getByText("1 file could not be read").click();
  await page.getByText("odd.yaml").first().waitFor();
});
