// The page of the real `claimcheck ui`, over small clusters in files.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inaccessible, look } from "./browser.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Starts the command; its address. */
async function start(t, sample) {
  const file = fileURLToPath(new URL(`samples/${sample}.yaml`, import.meta.url));
  const command = spawn(`${ROOT}/.venv/bin/claimcheck`, ["ui", "--no-config", "--port", "0", "--inventory", file], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => command.kill("SIGKILL"));
  for await (const line of createInterface({ input: command.stdout })) {
    const [address] = /http:\S+/.exec(line) ?? [];
    if (address) return address;
  }
  throw new Error("claimcheck ui has ended without an address");
}

const WAITING = [
  ["held-by-a-deployment", "team-a/train", /^Does not fit on n1: .* held by pod team-b\/api-5d-x \(claim api-gpu\)\.$/, "if Deployment team-b/api were scaled down to 0"],
  ["counters-exhausted", "default/train", /^Does not fit on n1: .* too little is left in its counter set/, "who holds the devices"],
  ["misspelt-value", "default/train", /did you mean "a100"\?$/, "with \"a100\" instead of \"A100\""],
];
for (const [sample, pod, sentence, remedy] of WAITING) {
  test(`claimcheck ui says why the pod of ${sample} waits`, async (t) => {
    const page = await look(t, await start(t, sample));
    assert.match(await page.locator(".cause").first().innerText(), sentence);
    await page.getByRole("link", { name: pod }).click();
    await page.locator("h1.sentence").waitFor();
    assert.match(await page.locator("h1").innerText(), sentence);
    await page.getByText(remedy).waitFor();
    await page.getByRole("table", { name: "Request gpu" }).waitFor();
    assert.deepEqual(await inaccessible(page), []);
  });
}

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
  const response = await fetch(address.replace(/token=.*/, ""));
  assert.equal(response.status, 403);
  const page = await look(t, address);
  await page.context().clearCookies();
  await page.reload();
  assert.match(await page.locator("body").innerText(), /open the address that/);
});
