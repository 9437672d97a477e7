// A browser that another program drives: each line of the input is a step, [name, ...arguments], and is answered with a line when it is done.
//     node tests/driven.mjs ADDRESS
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import axe from "axe-core";
import { chromium } from "playwright-core";

const TIMEOUT = 60_000;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
page.setDefaultTimeout(TIMEOUT);
const complaints = [];
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (message) => message.type() === "error" && !/Failed to load resource/.test(message.text()) && complaints.push(message.text()));

const STEPS = {
  open: (hash) => page.evaluate((to) => (location.hash = to), hash),
  choose: (label, option) => page.locator("label", { hasText: new RegExp(`^${label}`) }).locator("select").first().selectOption(option),
  fill: (label, text) => page.getByLabel(label, { exact: true }).fill(text),
  type: (text) => page.locator(".cm-content").fill(text),
  press: (name) => page.getByRole("button", { name }).click(),
  see: (text) => page.getByText(text).filter({ visible: true }).first().waitFor(),
  row: (pattern) => page.getByRole("row", { name: new RegExp(pattern) }).first().waitFor(),
  /** that the page was never loaded anew, is accessible, and has nothing to complain of */
  sound: async () => {
    assert.equal(await page.evaluate(() => globalThis.isFirst), true);
    assert.deepEqual(complaints, []);
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html]), []);
  },
};

await page.goto(process.argv[2]);
await page.locator("h1").first().waitFor();
await page.evaluate(() => (globalThis.isFirst = true));
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  try {
    await STEPS[name](...given);
    console.log("done");
  } catch (error) {
    const shown = (await page.locator("body").innerText()).slice(0, 3_000);
    console.log(`failed: ${JSON.stringify(`${error}\n${shown}`)}`);
  }
}
await browser.close();
