// A chart in use: by keys alone, by dragging, by its slider.
import assert from "node:assert/strict";
import { accessible, shoot } from "../browser.mjs";
import { base, drawn, goesTo, journey } from "./served.mjs";

const state = (page) => page.evaluate(() => location.pathname + location.search);
const handle = (page) => page.locator("weir-chart .handle[role=slider]");
/** Reaches an element of the chart by Tab alone, and checks that its focus is visible. */
async function tabTo(page, selector) {
  for (let step = 0; step < 100; step += 1) {
    await page.keyboard.press("Tab");
    const ring = await page.evaluate((selector) => {
      const inside = document.activeElement?.shadowRoot?.activeElement;
      return inside?.matches(selector) ? getComputedStyle(inside).outlineStyle : undefined;
    }, selector);
    if (ring === undefined) continue;
    assert.notEqual(ring, "none", `${selector} shows that it has the focus`);
    return;
  }
  assert.fail(`${selector} cannot be reached by Tab`);
}

journey("address, form, table and chart stay in step, by keys alone", {}, async (page) => {
  await page.goto("/chart/growth");
  await drawn(page);
  const told = (name) => page.locator(`form[data-chart-form] [name=${name}]`).inputValue();
  // From thirteen years to some hours.
  await tabTo(page, ".handle");
  await page.keyboard.press("Home");
  await page.waitForFunction(() =>
    /2013|2014/.test(
      document.querySelector("weir-chart").shadowRoot.querySelector(".handle").ariaValueText ?? "",
    ),
  );
  for (let step = 0; step < 18 && !/T\d\d/.test(page.url()); step += 1) {
    const before = page.url();
    await page.keyboard.press("+");
    await page.waitForURL((url) => url.href !== before);
    await drawn(page);
  }
  assert.match(await state(page), /from=\d{4}-\d\d-\d\dT\d\d&to=\d{4}-\d\d-\d\dT\d\d$/);
  // The form writes it as the server does: the first hour of a day is the day.
  await page.waitForFunction(() => {
    const { value } = document.querySelector("[name=from]");
    const asked = new URLSearchParams(location.search).get("from");
    return value.length >= 10 && asked.startsWith(value);
  });
  assert.match(await told("to"), /^\d{4}-\d\d-\d\d/);
  await page.waitForFunction(() =>
    /from=\d{4}-\d\d-\d\d/.test(document.querySelector("[data-part=files] a").getAttribute("href")),
  );
  assert.equal((await page.locator("[data-part=table] tbody tr").count()) > 0, true);
  await shoot(page, "atlas-hours-wide-light");
  // And all the way back.
  for (let step = 0; step < 30 && /from=/.test(page.url()); step += 1) {
    const before = page.url();
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => url.href !== before);
    await drawn(page);
  }
  assert.equal(await state(page), "/chart/growth");
  // The form, without leaving the page.
  await page.evaluate(() => {
    window.stayed = true;
  });
  await page.getByLabel("From").fill("2019-01");
  await page.getByLabel("By", { exact: true }).selectOption("month");
  await page.getByLabel("To", { exact: true }).fill("2019-12");
  await page.keyboard.press("Enter");
  await goesTo(page, /from=2019-01&to=2019-12&by=month$/);
  await page.waitForFunction(
    () => document.querySelectorAll("[data-part=table] tbody tr").length === 12,
  );
  assert.equal(await page.evaluate(() => window.stayed), true);
  // The legend.
  await page.evaluate(() => document.activeElement?.blur());
  await tabTo(page, ".legend a");
  await page.keyboard.press("Enter");
  await goesTo(page, /only=/);
  await accessible(page, "a filtered chart");
  // Reloads the state from its address.
  await page.reload();
  await drawn(page);
  assert.match(await state(page), /only=/);
  const shown = await page.locator(".stage .entry[data-shown=no]").count();
  assert.equal(shown, 1);
});

journey("values are those of the table", {}, async (page) => {
  await page.goto("/chart/growth?from=2019-01&to=2019-12&by=month");
  await drawn(page);
  await handle(page).focus();
  await page.keyboard.press("Home");
  const value = () => handle(page).getAttribute("aria-valuetext");
  const { series } = await fetch(`${base}/chart/growth.json?from=2019-01&to=2019-12&by=month`).then(
    (answer) => answer.json(),
  );
  const rows = page.locator("[data-part=table] tbody tr");
  for (const { t, nodes } of series) {
    const words = new Date(t).toLocaleDateString("en-GB", { month: "long", year: "numeric" });
    await page.waitForFunction(
      (words) =>
        document
          .querySelector("weir-chart")
          .shadowRoot.querySelector(".handle")
          .getAttribute("aria-valuetext")
          .startsWith(words),
      words,
    );
    const written = nodes.toLocaleString("en-GB");
    assert.ok((await value()).includes(written), `${words}: ${written} in ${await value()}`);
    assert.ok(
      (await rows.allInnerTexts()).some((row) => row.includes(written)),
      written,
    );
    await page.keyboard.press("ArrowRight");
  }
});

journey("dragging goes from thirteen years to days", {}, async (page) => {
  await page.goto("/chart/growth");
  await drawn(page);
  const { x, y, width, height } = await page.locator("weir-chart .stage").boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(x + width * from, y + height * 0.6);
    await page.mouse.down();
    await page.mouse.move(x + width * to, y + height * 0.6, { steps: 5 });
    await page.locator("weir-chart .chosen").waitFor();
    await shoot(page, "atlas-drag-wide-light");
    await page.mouse.up();
  };
  await drag(0.5, 0.52);
  await goesTo(page, /from=20\d\d-\d\d-\d\d&to=20\d\d-\d\d-\d\d$/);
  await drawn(page);
  assert.equal(await page.locator(".stage svg").first().getAttribute("data-by"), "day");
  await page.mouse.move(x + width * 0.6, y + height * 0.6);
  await page.locator("weir-chart .box").waitFor();
  await shoot(page, "atlas-days-wide-light");
  // The browser's own way back and forth. The form follows the address by a request of its own.
  const filled = (wanted) =>
    page.waitForFunction(
      (wanted) => (document.querySelector("[name=from]").value !== "") === wanted,
      wanted,
    );
  await page.goBack();
  await goesTo(page, /\/chart\/growth$/);
  await page.locator(".stage svg[data-by=month]").first().waitFor();
  await filled(false);
  await page.goForward();
  await page.locator(".stage svg[data-by=day]").first().waitFor();
  await filled(true);
});

journey("a slider over the months, and a race that plays", { locale: "de-DE" }, async (page) => {
  for (const name of ["heat", "race"]) {
    await page.goto(`/chart/${name}?at=2019-10`);
    await drawn(page);
    const slider = page.getByRole("slider", { name: "Zeit" });
    await slider.waitFor();
    assert.equal(await slider.getAttribute("aria-valuetext"), "Oktober 2019");
    await page.getByRole("button", { name: "Abspielen" }).click();
    await goesTo(page, /at=2020-01/);
    await page.getByRole("button", { name: "Anhalten" }).click();
    await drawn(page);
    assert.match(await page.locator("[name=at]").inputValue(), /^20(19|20)-\d\d$/);
  }
});
