// Activity of the network: rates, devices, conversations, history, paths.
import assert from "node:assert/strict";
import { visit } from "./views.mjs";

/** Current rates are shown, and change. */
export async function dashboard(page) {
  await visit(page, "");
  const value = page.locator(".now-value").first();
  const first = await value.innerText();
  assert.match(first, /bit\/s$/);
  await page.locator(".bars li").first().waitFor();
  await page.waitForFunction(
    (before) => document.querySelector(".now-value")?.textContent !== before,
    await value.evaluate((element) => element.textContent),
  );
}

/** The table of devices can be ordered and searched; a device's own page opens. */
export async function device(page) {
  await visit(page, "devices");
  const total = page.locator("thead th", { hasText: /^Total/ });
  await total.locator("button").click();
  assert.equal(await total.getAttribute("aria-sort"), "descending");
  await total.locator("button").click();
  assert.equal(await total.getAttribute("aria-sort"), "ascending");
  const rows = await page.locator("tbody tr").count();
  await page.locator("#find").fill("no such device anywhere");
  await page.locator("main .nothing").waitFor();
  await page.locator("#find").fill("");
  await page.locator("tbody tr").first().waitFor();
  assert.equal(await page.locator("tbody tr").count(), rows);
  await visit(page, "device");
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
}

/**
 * A device gets a name, an owner and a kind, by the keyboard. A device with a name in the
 * configuration cannot be renamed here.
 */
export async function rename(page) {
  const called = page.locator("tbody tr th a bdi");
  const opened = async (mac) => {
    await page.goto(`/#/devices/${mac}`);
    await page.locator(".label-form").waitFor();
  };
  const { devices } = await page.evaluate(async () => (await fetch("/api/v1/devices")).json());
  const inside = devices.filter(({ uplink }) => !uplink);
  const fixed = inside.find(({ configured }) => configured?.includes("name"));
  await opened(fixed.mac);
  assert.equal(await page.locator("#label-name").isEditable(), false);
  assert.equal(await page.locator("#label-name").inputValue(), fixed.name);
  const { mac } = inside.find(({ configured }) => configured === undefined);
  await opened(mac);
  await page.locator("#label-name").focus();
  await page.keyboard.type("kitchen radio");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("Anna");
  await page.keyboard.press("Tab");
  await page.locator("#label-icon").selectOption("speaker");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator(".label-done .notice.good").waitFor();
  await page.locator("h1", { hasText: "kitchen radio" }).waitFor();
  await page.locator(".title .tag", { hasText: "Anna" }).waitFor();
  await visit(page, "devices");
  await page.locator("#find").fill("anna");
  const row = page.locator("tbody tr", { hasText: "kitchen radio" });
  await row.locator(".kind .icon").waitFor();
  assert.ok((await called.allInnerTexts()).includes("kitchen radio"));
  // The former name is back after the removal of this one: spaces count as empty.
  await opened(mac);
  await page.locator("#label-name").fill("  ");
  await page.locator("#label-name").press("Enter");
  await page.locator("h1", { hasText: "kitchen radio" }).waitFor({ state: "detached" });
  assert.equal(await page.locator("#label-name").inputValue(), "");
}

/** A conversation shows its path from the device to the remote end. */
export async function conversation(page) {
  await visit(page, "conversations");
  // Finished queries are in one line, which opens and closes.
  const fold = page.locator(".more button[aria-expanded]");
  if ((await fold.count()) > 0) {
    const before = await page.locator("tbody tr").count();
    await fold.click();
    await page.locator('.more button[aria-expanded="true"]').waitFor();
    const opened = await page.locator("tbody tr").count();
    assert.ok(opened > before);
    await fold.click();
    await page.locator('.more button[aria-expanded="false"]').waitFor();
    // Conversations of a router at work come and go meanwhile.
    assert.ok((await page.locator("tbody tr").count()) < opened);
  }
  await visit(page, "conversation");
  assert.equal(await page.locator(".path li").count(), 3);
  await page.goBack();
  await page.locator("tbody tr").first().waitFor();
}

/** Bars of days, and of hours; a period chosen by the keyboard shows its own figures. */
export async function history(page) {
  await visit(page, "history");
  for (const [unit, bars] of [
    ["hour", 48],
    ["month", 12],
    ["day", 31],
  ]) {
    await page.locator(`input[name=unit][value=${unit}]`).check();
    await page.waitForFunction((many) => document.querySelectorAll(".stack").length === many, bars);
  }
  const heading = page.locator(".history-parts :is(h2, h3)");
  const whole = await heading.innerText();
  await page.locator(".stacks").focus();
  await page.keyboard.press("End");
  await page.locator(".stack.chosen").waitFor();
  assert.notEqual(await heading.innerText(), whole);
  await page.keyboard.press("Escape");
  assert.equal(await heading.innerText(), whole);
  await page.locator("input[name=by][value=application]").check();
  await page.locator(".history-parts tbody tr, .nothing").first().waitFor();
}

/**
 * Shows the traffic of each path, also in the other direction; arrow keys read it. Without a
 * partner the navigation has no such view.
 */
export async function paths(page) {
  await page.locator('nav a[href="#/paths"]').click();
  await page.locator(".path-card").first().waitFor();
  await page.locator(".notice.good").waitFor();
  const sum = page.locator("main .large").first();
  await page.waitForFunction(() =>
    /[1-9].*\s[kMG]?bit\/s/.test(document.querySelector("main .large")?.textContent ?? ""),
  );
  assert.match(
    await page.locator(".chart-room").getAttribute("aria-label"),
    /^Traffic by path, Download, now: /,
  );
  const cards = await page.locator(".path-card").count();
  assert.equal(await page.locator(".legend li").count(), cards);
  const down = await sum.innerText();
  await page.locator("input[name=way][value=up]").check();
  await page.waitForURL(/#\/paths\?way=up$/);
  assert.notEqual(await sum.innerText(), down);
  await page.locator(".chart-room").focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() =>
    /^\d\d:\d\d:\d\d: .*bit\/s/.test(
      document.querySelector(".chart [aria-live]")?.textContent ?? "",
    ),
  );
  await page.locator("input[name=way][value=down]").check();
}

/** Shares of the paths, in hundredths. */
export const shares = (page) =>
  page
    .locator(".path-share")
    .evaluateAll((all) => all.map((one) => Number.parseInt(one.textContent ?? "", 10)));
