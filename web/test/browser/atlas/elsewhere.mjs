// Embedded in a page with a strict policy, in frames, and by copied code.
import assert from "node:assert/strict";
import test from "node:test";
import { stranger } from "../../mock/atlas.mjs";
import { fits, open, PATIENCE, shoot } from "../browser.mjs";
import { base, browser, drawn, journey, SIZES } from "./served.mjs";

const FRAMED = (host) => `<weir-chart src="${host}/chart/growth?from=2015"></weir-chart>
  <weir-chart src="${host}/chart/heat?at=2019-10" lang="de"></weir-chart>
  <p><img src="${host}/chart/routing.svg?width=800" alt="Routing protocols over the years" width="100%"></p>
  <iframe src="${host}/embed/top?at=2019-10" title="The largest communities" width="100%" height="540"></iframe>`;

for (const [size, viewport] of SIZES) {
  for (const colorScheme of ["light", "dark"]) {
    test(`in somebody else's page, ${size}, ${colorScheme}`, {
      timeout: 4 * PATIENCE,
    }, async () => {
      const theirs = await stranger(base, FRAMED(base));
      const opened = await open(browser, theirs.url, { viewport, colorScheme });
      try {
        const { page } = opened;
        await page.goto(theirs.url);
        await drawn(page);
        const frame = page.frameLocator("iframe");
        await frame.locator(".stage svg.weir-chart .item").first().waitFor();
        await page.waitForFunction(() => document.querySelector("img").naturalWidth > 0);
        await page.getByRole("slider", { name: "Zeit" }).waitFor();
        await page.locator("weir-chart .handle").first().focus();
        await page.locator("weir-chart .box").first().waitFor();
        // A frame outside the window is not drawn.
        await page.setViewportSize({ ...viewport, height: 2400 });
        await shoot(page, `atlas-elsewhere-${size}-${colorScheme}`);
        await page.locator(".stage .legend a").first().click();
        await page.waitForFunction(() =>
          /only=/.test(document.querySelector("weir-chart").getAttribute("src")),
        );
        assert.equal(new URL(page.url()).origin, theirs.url);
        opened.clean(new RegExp(`^asks elsewhere: ${base}/`));
      } finally {
        await opened.close();
        await theirs.close();
      }
    });
  }
}

/** Code to copy from a chart's menu. */
async function copied(path) {
  const text = await fetch(`${base}${path}`).then((answer) => answer.text());
  const plain = (html) =>
    html
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&amp;", "&");
  const of = (id) =>
    plain(text.split(`id="snippet-${id}"`)[1].split(">")[1].split("</textarea")[0]);
  return ["component", "frame", "image"].map(of);
}

for (const [size, viewport] of SIZES)
  test(`what is copied fits a page, ${size}`, { timeout: 4 * PATIENCE }, async () => {
    const path = "/chart/routing?from=2015&to=2019";
    const [component, frame, image] = await copied(path);
    const oembed = `${base}/oembed?url=${encodeURIComponent(base + path)}&maxwidth=320&maxheight=300`;
    const { html } = await fetch(oembed).then((answer) => answer.json());
    // The script is in the page's head.
    const body = [component.replace(/<script.*?<\/script>/, ""), frame, image, html];
    const theirs = await stranger(base, body.map((one) => `<p>${one}</p>`).join("\n"));
    const opened = await open(browser, theirs.url, { viewport });
    try {
      const { page } = opened;
      await page.goto(theirs.url);
      await drawn(page);
      await page.waitForFunction(() => document.querySelector("p img").naturalWidth > 0);
      await fits(page, `copied, ${size}`);
      const boxes = page.locator("weir-chart, iframe, img");
      assert.equal(await boxes.count(), 4);
      for (const box of await boxes.all()) {
        await box.scrollIntoViewIfNeeded();
        const { width } = await box.boundingBox();
        assert.ok(width <= viewport.width && width >= 300, `${width}`);
      }
      // Letters of a picture have their intended size, also on a telephone.
      const shown = await page.locator("img").evaluate((img) => [img.width, img.currentSrc]);
      assert.equal(/width=340/.test(shown[1]), size === "narrow", `${shown}`);
      // Nothing is cut off below.
      for (const inner of page.frames().slice(1)) {
        await drawn(inner);
        const left = await inner.evaluate(
          () => document.documentElement.scrollHeight - innerHeight,
        );
        assert.ok(left <= 0, `${inner.url()}: ${left} pixels below`);
      }
      await page.setViewportSize({ ...viewport, height: 2600 });
      await shoot(page, `atlas-copied-${size}`);
      opened.clean(new RegExp(`^asks elsewhere: ${base}/`));
    } finally {
      await opened.close();
      await theirs.close();
    }
  });

for (const [width, height] of [
  [360, 520],
  [960, 300],
])
  journey(
    `bars fit their frame, ${width} by ${height}`,
    {
      viewport: { width, height },
    },
    async (page) => {
      for (const name of ["top", "race"]) {
        await page.goto(`/embed/${name}?at=2019-10`);
        const left = () => page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
        assert.ok((await page.locator(".drawn .item").count()) > 0);
        await drawn(page);
        await page.getByRole("slider", { name: "Time" }).waitFor();
        assert.ok((await page.locator(".stage .item").count()) >= 5, name);
        assert.ok((await left()) <= 0, `${name}: ${await left()} pixels below`);
      }
    },
  );

journey("the menu copies no time that goes on", {}, async (page) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  for (const [asked, title] of [
    ["", "Largest communities"],
    ["?at=2019-10", "Largest communities, October 2019"],
  ]) {
    await page.goto(`/chart/top${asked}`);
    await drawn(page);
    await page.getByRole("button", { name: "Download and share" }).click();
    await page.getByRole("button", { name: "Copy the iframe code" }).click();
    await page.waitForFunction(
      async (title) => (await navigator.clipboard.readText()).includes(`title="${title}"`),
      title,
    );
  }
});
