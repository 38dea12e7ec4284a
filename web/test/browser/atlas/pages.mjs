// Each page and chart, wide and narrow, light and dark, and without script.
import assert from "node:assert/strict";
import { shoot } from "../browser.mjs";
import { ASKED, charts, journey, look, SIZES } from "./served.mjs";

for (const [size, viewport] of SIZES) {
  journey(`every chart, ${size}`, { viewport }, async (page) => {
    assert.ok(charts.length >= 12, `${charts}`);
    for (const name of charts) {
      await page.goto(`/chart/${name}?${ASKED[name] ?? ""}`);
      await page.locator(".stage svg.weir-chart").waitFor();
      assert.equal(await page.locator("h1").count(), 1);
      await look(page, name, size);
      // The chart has content and a name.
      const said = await page.locator(".stage svg.weir-chart").getAttribute("aria-label");
      assert.ok(said.length > 20, `${name}: ${said}`);
      const many = ".stage :is(.series, .item)";
      assert.ok((await page.locator(many).count()) > 0, `${name} is empty`);
      assert.ok((await page.locator("[data-part=table] tbody tr").count()) > 0, name);
    }
  });

  journey(`every other page, ${size}`, { viewport }, async (page) => {
    const pages = {
      overview: "/",
      communities: "/communities?q=aachen",
      sql: "/sql",
      result: `/sql?q=${encodeURIComponent("SELECT month, nodes FROM growth")}`,
      ledger: "/ledger",
      about: "/about",
      german: "/chart/growth?lang=de&from=2018",
    };
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(path);
      await look(page, name, size);
    }
  });

  journey(`without script, ${size}`, { viewport, javaScriptEnabled: false }, async (page) => {
    for (const name of charts) {
      await page.goto(`/chart/${name}?${ASKED[name] ?? ""}`);
      const shown = page.locator("svg.weir-chart:visible");
      assert.equal(await shown.count(), 1, name);
      const { width } = await shown.boundingBox();
      assert.ok(width > (size === "wide" ? 700 : 280), `${name}: ${width}`);
      await shoot(page, `atlas-${name}-${size}-plain`);
    }
    // A form, a legend and a table are enough to go on.
    await page.goto("/chart/growth");
    await page.getByLabel("From").fill("2019-01");
    await page.getByLabel("To", { exact: true }).fill("2019-12");
    await page.getByLabel("By", { exact: true }).selectOption("month");
    await page.getByRole("button", { name: "Show" }).click();
    assert.match(page.url(), /from=2019-01&to=2019-12&by=month/);
    assert.equal(await page.locator("[data-part=table] tbody tr").count(), 12);
    await page.locator(".legend a:visible").first().click();
    assert.match(page.url(), /only=/);
    await page.getByRole("link", { name: "Deutsch" }).click();
    assert.equal(await page.locator("html").getAttribute("lang"), "de");
    await page.getByRole("link", { name: "Dunkel" }).click();
    await shoot(page, `atlas-plain-${size}-dark`);
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  });
}
