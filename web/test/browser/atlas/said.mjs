// Text beside a chart, printing, loading time, and the examples of the documents.
import assert from "node:assert/strict";
import { join } from "node:path";
import { NARROW, shoot } from "../browser.mjs";
import { base, drawn, goesTo, journey } from "./served.mjs";

journey("notes stand once, and odd numbers are marked", {}, async (page) => {
  await page.goto("/chart/growth?from=2019");
  await drawn(page);
  const says = "Each point is the mean of its month.";
  await page.locator(".notes").getByText(says).waitFor();
  const inPicture = page.locator(".stage svg text").filter({ hasText: says });
  assert.equal(await inPicture.count(), 0);
  // The filter also applies to later pictures.
  await page.locator(".stage .legend a").first().click();
  await goesTo(page, /only=/);
  await drawn(page);
  assert.equal(await inPicture.count(), 0);
  await page.goto("/embed/growth?from=2019");
  await drawn(page);
  await inPicture.first().waitFor();
});

journey("a table that goes on says so where bars are hidden", {}, async (page) => {
  await page.goto("/chart/growth");
  await drawn(page);
  const table = page.locator("[data-part=table] .scroll");
  const goesOn = await table.evaluate((one) => one.scrollHeight > one.clientHeight + 50);
  assert.ok(goesOn);
  // The covers of the shadows scroll with the rows, the shadows do not.
  const attached = await table.evaluate((one) => getComputedStyle(one).backgroundAttachment);
  assert.equal(attached, "local, local, local, local, scroll, scroll, scroll, scroll");
});

journey("where nothing is the nearest snapshot is a link away", {}, async (page) => {
  const { series } = await fetch(`${base}/chart/growth.json?by=day&from=2019&to=2019`).then(
    (answer) => answer.json(),
  );
  const next = new Date(Date.parse(series[3].t) + 86_400_000).toISOString().slice(0, 10);
  await page.goto(`/chart/growth?from=${next}&to=${next}`);
  await page.locator("[data-part=nearest] a").click();
  await drawn(page);
  assert.ok((await page.locator("[data-part=table] tbody tr").count()) > 0);
});

journey("on paper", { colorScheme: "dark" }, async (page) => {
  await page.goto("/chart/growth");
  await drawn(page);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".side, form.controls").first().isVisible(), false);
  await shoot(page, "atlas-paper");
});

journey("how soon the largest thing is there", {}, async (page) => {
  for (const path of ["/", "/chart/growth", "/chart/map", "/communities"]) {
    await page.goto(path);
    const ms = await page.evaluate(
      () =>
        new Promise((done) => {
          let last = 0;
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) last = entry.startTime;
          }).observe({ type: "largest-contentful-paint", buffered: true });
          setTimeout(() => done(Math.round(last)), 1500);
        }),
    );
    console.log(`# LCP of ${path}: ${ms} ms`);
    assert.ok(ms > 0);
  }
});

const documents = { viewport: { width: 1280, height: 1000 } };
if (process.env.WEIR_WEB_SHOTS !== undefined)
  journey("as docs/how-to/atlas.md shows it", documents, async (page) => {
    const take = (name) =>
      page.screenshot({ path: join(process.env.WEIR_WEB_SHOTS, `atlas-${name}.png`) });
    await page.goto("/");
    await drawn(page);
    await take("overview");
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.goto("/chart/growth?from=2015");
    await drawn(page);
    const { x, y, width, height } = await page.locator("weir-chart .stage").boundingBox();
    await page.mouse.move(x + width * 0.62, y + height * 0.6);
    await page.locator("weir-chart .box").waitFor();
    await take("growth");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto("/chart/heat?at=2019-10");
    await drawn(page);
    await page.getByRole("slider", { name: "Time" }).waitFor();
    await take("heat");
    await page.setViewportSize(NARROW);
    await page.goto("/chart/race?at=2019-10");
    await drawn(page);
    await take("race-narrow");
  });
