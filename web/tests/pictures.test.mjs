// The files of `-o html` and `-o svg` in a browser: of a cluster in which every text is hostile, and of an ordinary one.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inaccessible, look } from "./browser.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FILES = mkdtempSync(`${tmpdir()}/claimcheck-pictures-`);
after(() => rmSync(FILES, { recursive: true }));
execFileSync(`${ROOT}/.venv/bin/python`, ["-m", "tests.commandline.pictures.hostile_files", FILES], { cwd: ROOT });
const SNAPSHOTS = `${ROOT}/tests/commandline/snapshots`;
const given = (name) => ["-f", `${SNAPSHOTS}/simulate/${name}/workloads.yaml`, "--inventory", `${SNAPSHOTS}/simulate/${name}/cluster.yaml`];
const ORDINARY = {
  "listing.html": ["devices", "-o", "html", "--inventory", `${SNAPSHOTS}/devices/listing/cluster.yaml`],
  "unplaced.html": ["explain", "-o", "html", ...given("unplaced")],
  "partitions.html": ["simulate", "-o", "html", ...given("partitions"), "--compare", "first-fit,best-fit"],
  "bad.html": ["validate", "-o", "html", `${ROOT}/manifests/examples/bad`],
};

/** What a command prints, in a file. */
function write(name, command) {
  try {
    writeFileSync(`${FILES}/${name}`, execFileSync(`${ROOT}/.venv/bin/claimcheck`, [...command, "--no-config"], { stdio: ["ignore", "pipe", "ignore"] }));
  } catch (error) {
    writeFileSync(`${FILES}/${name}`, error.stdout); // the exit code says what the answer is
  }
}
for (const [name, command] of Object.entries(ORDINARY)) write(name, command);

for (const name of ["devices.html", "explain.html", "simulate.html", "validate.html", ...Object.keys(ORDINARY)]) {
  test(`${name} can be read by everybody, on a narrow screen, and without scripts`, async (t) => {
    const page = await look(t, `file://${FILES}/${name}`, { viewport: { width: 360, height: 740 } });
    assert.deepEqual(await inaccessible(page), []);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    assert.equal(await page.evaluate(() => document.querySelectorAll("script, img, a, iframe, [onload], [onerror]").length), 0);
    assert.match(await page.title(), / – Claimcheck$/);
  });
}

test("a picture is shown by a browser", async (t) => {
  writeFileSync(`${FILES}/around.html`, "<!doctype html><title>t</title><h1>t</h1><main></main><img src=devices.svg>");
  const around = await look(t, `file://${FILES}/around.html`);
  assert.ok((await around.evaluate(() => document.images[0].naturalHeight)) > 100);
});
