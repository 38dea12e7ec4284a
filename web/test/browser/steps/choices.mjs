// Language and colours.
import assert from "node:assert/strict";
import { visit } from "./views.mjs";

/** German and back, by the switch; screen readers are informed. */
export async function language(page) {
  await visit(page, "devices");
  await page.locator("#language").selectOption("de");
  await page.locator("h1", { hasText: "Geräte" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  await page.reload();
  await page.locator("h1", { hasText: "Geräte" }).waitFor();
  await page.locator("#language").selectOption("en");
  await page.locator("h1", { hasText: "Devices" }).waitFor();
}

/** Dark and light, by the switch. */
export async function theme(page) {
  await visit(page, "");
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.locator("#theme").selectOption("light");
  const light = await ground();
  await page.locator("#theme").selectOption("dark");
  assert.notEqual(await ground(), light);
  await page.locator("#theme").selectOption("auto");
}
