// A browser to look at the page with.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import axe from "axe-core";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: OPTIONS });
});
after(() => browser.close());

/** The page at an address, in a context of its own. What the browser complains of fails the test. */
export async function look(t, address, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  });
  await page.goto(address);
  await page.locator("h1").first().waitFor();
  await page.locator('main [role="status"]', { hasText: "Reading…" }).waitFor({ state: "detached" });
  return page;
}

/** What axe finds in the view that is shown: a list for `assert.deepEqual(…, [])`. */
export async function inaccessible(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(({ id, nodes }) => [id, nodes[0].html, nodes[0].failureSummary]);
}
