// Makes the pictures of docs/how-to/ui.md anew, from the page over an inventory: node pictures.mjs
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = `${ROOT}/docs/how-to/pictures`;
const PLACEMENT = "manifests/examples/placement/cluster.yaml";

/** What is done on the page before a picture is taken, by the name of the picture. */
const PICTURES = {
  "ui-capacity": [PLACEMENT, async (page) => {
    await page.getByRole("link", { name: "Capacity" }).click();
    await page.getByLabel("Change").selectOption("new nodes");
    await page.getByLabel("As there are").selectOption({ index: 1 });
    await page.getByLabel("Like").selectOption("a claim for devices of a class");
    await page.getByRole("rowheader", { name: "best-fit, after the change" }).waitFor();
    await page.getByLabel("Of these").fill("12");
    await page.getByRole("heading", { name: "What if?" }).evaluate((each) => each.scrollIntoView());
  }],
  "ui-try": [PLACEMENT, async (page) => {
    await page.getByRole("link", { name: "Try" }).click();
    await page.locator(".cm-content").fill("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: example\nspec:\n  devices:\n    requests:\n    - name: gpu\n      exactly:\n        deviceClassname: gpu.example.com\n");
    await page.locator(".said-error").waitFor();
    await page.getByRole("button", { name: "Fix it" }).first().waitFor();
  }],
  "ui-pool": [PLACEMENT, async (page) => {
    await page.getByRole("link", { name: "Pools" }).click();
    await page.getByRole("link", { name: "gpu-node" }).click();
    await page.getByRole("button", { name: "gpu-0-half-2: " }).click();
    await page.getByText("3 others cannot be used").waitFor();
    await page.getByRole("heading", { name: "Partitions" }).evaluate((each) => each.scrollIntoView());
  }],
};

async function serve(inventory) {
  const command = spawn(`${ROOT}/.venv/bin/claimcheck`, ["ui", "--no-config", "--port", "0", "--inventory", inventory], { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: command.stdout })) {
    const [address] = /http:\S+/.exec(line) ?? [];
    if (address) return { address, command };
  }
  throw new Error("claimcheck ui has ended without an address");
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const [name, [inventory, prepare]] of Object.entries(PICTURES)) {
  const { address, command } = await serve(inventory);
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1000, height: 640 } });
    await page.goto(address);
    await prepare(page);
    await page.mouse.move(0, 0);
    await page.screenshot({ path: `${FOLDER}/${name}-${colorScheme}.png` });
    await page.close();
  }
  command.kill("SIGTERM");
}
await browser.close();
