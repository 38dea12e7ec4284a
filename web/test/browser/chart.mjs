// <weir-chart> embedded in a page with a strict policy, with handmade pictures: pointing, keys,
// zoom, legend, slider, files, and pictures that no atlas should send. Pages and charts of a real
// atlas are in atlas.mjs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test, { after, before } from "node:test";
import { atlas, stranger } from "../mock/atlas.mjs";
import { accessible, fits, launch, NARROW, open, PATIENCE, shoot } from "./browser.mjs";

const WIDE = { width: 1100, height: 800 };
let browser;

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
});

/** A test with an atlas, and a page with `body(host)`, in which no error may occur. */
function journey(name, { body, lang, allow, ...options }, walk) {
  test(name, { timeout: 2 * PATIENCE }, async () => {
    const host = await atlas();
    const theirs = await stranger(host.url, body(host.url), lang);
    const opened = await open(browser, theirs.url, { viewport: WIDE, ...options });
    try {
      await opened.page.goto(theirs.url);
      await walk(opened.page, host, theirs);
      const known = `asks elsewhere: ${host.url}`;
      opened.clean(new RegExp(`^${known}${allow ? `|${allow}` : ""}`));
    } finally {
      await opened.close();
      await theirs.close();
      await host.close();
    }
  });
}

const growth = (host) => `<weir-chart src="${host}/chart/growth"></weir-chart>`;
const handle = (page) => page.locator("weir-chart [role=slider].handle");
const box = (page) => page.locator("weir-chart .box");
const src = (page) => page.locator("weir-chart").getAttribute("src");
const reads = async (page, text) => {
  await page.waitForFunction(
    (text) =>
      document
        .querySelector("weir-chart")
        .shadowRoot.querySelector(".handle")
        .getAttribute("aria-valuetext")
        .startsWith(text),
    text,
  );
};
/** Waits for a state, and for its picture. */
const becomes = async (page, ending) => {
  await page.waitForFunction((ending) => {
    const chart = document.querySelector("weir-chart");
    return (
      chart.getAttribute("src").endsWith(ending) &&
      !chart.shadowRoot.querySelector(".frame").hasAttribute("aria-busy")
    );
  }, ending);
};
const place = async (page, part) => {
  const { x, y, width, height } = await page.locator("weir-chart .stage").boundingBox();
  return [x + (width * (60 + 880 * part)) / 960, y + height * 0.6];
};

journey("values by pointer and by keys", { body: growth }, async (page, host) => {
  await page.locator("weir-chart svg.weir-chart").waitFor();
  assert.ok(!host.asked.some((url) => url.includes(".json")), "values are asked for when needed");
  assert.ok(host.asked.some((url) => url.includes("width=1200") || url.includes("width=960")));
  await page.mouse.move(...(await place(page, 0.51)));
  await box(page).getByText("January 2019").waitFor();
  assert.match(await box(page).innerText(), /Live\s+1,012/);
  assert.match(await box(page).innerText(), /stale\s+12/);
  await accessible(page, "a value is shown");
  await shoot(page, "chart-pointed");
  await page.mouse.move(5, 5);
  await box(page).waitFor({ state: "hidden" });

  await handle(page).focus();
  // Keys continue from the pointer's position.
  await reads(page, "January 2019: Live 1,012, stale 12");
  await page.keyboard.press("ArrowLeft");
  await reads(page, "December 2018");
  await page.keyboard.press("Home");
  await reads(page, "January 2018");
  await page.keyboard.press("ArrowLeft");
  await reads(page, "January 2018");
  for (let step = 0; step < 3; step += 1) await page.keyboard.press("ArrowRight");
  await reads(page, "April 2018: Live 1,003, stale no value");
  await page.keyboard.press("End");
  await reads(page, "December 2019");
  assert.equal(await handle(page).getAttribute("aria-valuemax"), "23");
  assert.equal(host.asked.filter((url) => url.startsWith("/chart/growth.json")).length, 1);
});

journey("one gesture chooses a range, and the way back", { body: growth }, async (page) => {
  await page.locator("weir-chart svg.weir-chart").waitFor();
  await page.evaluate(() => {
    window.heard = [];
    document.addEventListener("change", (event) => window.heard.push(event.detail.src));
  });
  await page.mouse.move(...(await place(page, 0.26)));
  await page.mouse.down();
  await page.mouse.move(...(await place(page, 0.55)), { steps: 4 });
  await page
    .locator("weir-chart .chosen")
    .getByText(/2018 to .*2019/)
    .waitFor();
  await shoot(page, "chart-chosen");
  await page.mouse.up();
  await page.waitForFunction(() =>
    /from=2018-07-(09|10)&to=2019-02-0[5-7]$/.test(
      document.querySelector("weir-chart").getAttribute("src"),
    ),
  );
  assert.equal((await page.evaluate(() => window.heard)).length, 1);
  await page
    .locator("weir-chart .spoken")
    .getByText(/^(9|10) July 2018 to \d February 2019$/)
    .waitFor();
  await page.mouse.dblclick(...(await place(page, 0.5)));
  await becomes(page, "/chart/growth");
  // By keys, and back by Escape.
  await handle(page).focus();
  await page.keyboard.press("+");
  await page.waitForFunction(() =>
    /from=2018/.test(document.querySelector("weir-chart").getAttribute("src")),
  );
  await page.keyboard.press("Escape");
  await becomes(page, "/chart/growth");
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.waitForFunction(() =>
    /from=2018/.test(document.querySelector("weir-chart").getAttribute("src")),
  );
  await page.getByRole("button", { name: "Previous view" }).click();
  await becomes(page, "/chart/growth");
  assert.equal(await page.getByRole("button", { name: "Previous view" }).count(), 0);
  // With the wheel and ctrl, as touch pads pinch; without, the page scrolls.
  await page.mouse.move(...(await place(page, 0.5)));
  await page.mouse.wheel(0, -200);
  await page
    .locator("weir-chart .spoken")
    .getByText("Use Ctrl and the mouse wheel to zoom.")
    .waitFor();
  await shoot(page, "chart-wheel");
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -120);
  await page.keyboard.up("Control");
  await page.waitForFunction(() =>
    /from=2018-/.test(document.querySelector("weir-chart").getAttribute("src")),
  );
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, 900);
  await page.mouse.wheel(0, 900);
  await page.mouse.wheel(0, 900);
  await page.keyboard.up("Control");
  await becomes(page, "/chart/growth");
});

/** Touch events, as the browser receives them from a screen. */
async function fingers(page) {
  const session = await page.context().newCDPSession(page);
  const send = (type, touchPoints) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints });
  const at = async (parts, down = 0) => {
    const points = [];
    for (const [id, part] of parts.entries()) {
      const [x, y] = await place(page, part);
      points.push({ id, x, y: y + down });
    }
    return points;
  };
  return {
    down: async (...parts) => send("touchStart", await at(parts)),
    move: async (parts, by) => send("touchMove", await at(parts, by)),
    up: () => send("touchEnd", []),
  };
}

const touched = { body: growth, hasTouch: true };
journey("two fingers zoom", touched, async (page) => {
  await page.locator("weir-chart svg.weir-chart").waitFor();
  const hand = await fingers(page);
  await hand.down(0.45, 0.55);
  for (const apart of [0.07, 0.1, 0.15, 0.2]) await hand.move([0.5 - apart, 0.5 + apart]);
  await hand.up();
  await page.waitForFunction(() =>
    /from=2018-\d\d-\d\d&to=2019/.test(document.querySelector("weir-chart").getAttribute("src")),
  );
});

journey("one finger reads values, and scrolls the page", touched, async (page) => {
  await page.locator("weir-chart svg.weir-chart").waitFor();
  await page.evaluate(() => {
    document.querySelector("main").style.minHeight = "3000px";
  });
  const hand = await fingers(page);
  await hand.down(0.25);
  await box(page).getByText("July 2018").waitFor();
  for (const part of [0.3, 0.4, 0.51]) await hand.move([part]);
  await box(page).getByText("January 2019").waitFor();
  await hand.up();
  // The box stays after the finger has left, and the chart is not zoomed.
  assert.ok(await box(page).isVisible());
  assert.ok((await src(page)).endsWith("/chart/growth"));
  await hand.down(0.5);
  for (const by of [-20, -60, -120, -200]) await hand.move([0.5], by);
  await hand.up();
  await page.waitForFunction(() => scrollY > 50);
});

journey(
  "the legend filters, without leaving the page",
  { body: growth },
  async (page, _, theirs) => {
    const link = page.locator("weir-chart .legend .entry[data-key=stale] a");
    await link.click();
    await becomes(page, "/chart/growth?only=live");
    assert.equal(await page.locator("weir-chart .series").count(), 1);
    assert.equal(new URL(page.url()).origin, theirs.url);
    // The filter by keyboard keeps the focus.
    await link.focus();
    await page.keyboard.press("Enter");
    await becomes(page, "/chart/growth");
    assert.equal(await page.locator("weir-chart .series").count(), 2);
    await page.waitForFunction(
      () =>
        document.querySelector("weir-chart").shadowRoot.activeElement?.closest("[data-key]")
          ?.dataset.key === "stale",
    );
  },
);

const ranking = (host) => `<weir-chart src="${host}/chart/top?at=2019-11" lang="de"></weir-chart>`;
journey("a slider over the months, which plays", { body: ranking }, async (page, host) => {
  const slider = page.getByRole("slider", { name: "Zeit" });
  await slider.waitFor();
  assert.equal(await slider.getAttribute("aria-valuetext"), "November 2019");
  await page.locator("weir-chart .item").first().hover();
  await box(page).getByText("a: 9 in 2019-11").waitFor();
  await slider.focus();
  await page.keyboard.press("Home");
  await becomes(page, "/chart/top?at=2018-01");
  await page.keyboard.press("End");
  await becomes(page, "/chart/top?at=2019-12");
  await page.keyboard.press("ArrowLeft");
  await becomes(page, "/chart/top?at=2019-11");
  await page.getByRole("button", { name: "Abspielen" }).click();
  await page.getByRole("button", { name: "Anhalten" }).waitFor();
  await becomes(page, "/chart/top?at=2019-12");
  await page.getByRole("button", { name: "Abspielen" }).waitFor();
  // The playback wraps around, and requests the next month before showing it.
  await page.getByRole("button", { name: "Abspielen" }).click();
  await becomes(page, "/chart/top?at=2018-01");
  assert.ok(host.asked.some((url) => url.startsWith("/chart/top.svg?at=2018-02")));
  await page.getByRole("button", { name: "Anhalten" }).click();
  await accessible(page, "a ranking");
  await shoot(page, "chart-slider");
});

const saved = async (page, name) => {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: `Save as ${name}` }).click(),
  ]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
};

const none = "Failed to load resource.*404";
journey("files and code to take away", { body: growth, allow: none }, async (page, host) => {
  await page.locator("weir-chart svg.weir-chart").waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const button = page.getByRole("button", { name: "Download and share" }).first();
  await button.click();
  assert.equal(await button.getAttribute("aria-expanded"), "true");
  await accessible(page, "the menu");
  await shoot(page, "chart-menu");
  const svg = await saved(page, "SVG");
  assert.equal(svg.name, "growth.svg");
  assert.match(svg.bytes.toString(), /^<svg/);
  const png = await saved(page, "PNG");
  assert.equal(png.name, "growth.png");
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  assert.deepEqual([png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)], [2400, 1200]);
  assert.equal((await saved(page, "JSON")).name, "growth.json");
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole("button", { name: "Copy the link" }).click();
  await page.locator("weir-chart .spoken").getByText("Copied.").waitFor();
  assert.equal(await copied(), `${host.url}/chart/growth`);
  await page.getByRole("button", { name: "Copy the iframe code" }).click();
  await page.waitForFunction(async () =>
    (await navigator.clipboard.readText()).startsWith("<iframe"),
  );
  assert.match(await copied(), new RegExp(`src="${host.url}/embed/growth" title="Growth"`));
  // Reports a file that the atlas lacks.
  await page.getByRole("button", { name: "Save as CSV" }).click();
  await page.locator("weir-chart .spoken").getByText("Cannot save this: 404").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await button.getAttribute("aria-expanded"), "false");
});

const hostile = (host) => `<weir-chart src="${host}/chart/hostile"></weir-chart>`;
// The policy blocks the picture's attempts, and reports them before their removal.
const tries = "(Applying inline style|Executing inline event handler) violates";
journey(
  "what no atlas should send does nothing",
  { body: hostile, allow: tries },
  async (page, host) => {
    const svg = page.locator("weir-chart svg.weir-chart");
    await svg.waitFor();
    assert.equal(
      await svg
        .locator(
          "script, style, foreignObject, image, use, animate, [onclick], [style*=red], a[href^=javascript], [fill*=elsewhere]",
        )
        .count(),
      0,
    );
    await page.locator("weir-chart #bait").click();
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => window.ran), undefined);
    // The valid parts of the picture are shown.
    assert.equal(await page.locator("weir-chart .series").count(), 2);
    assert.ok(!host.asked.some((url) => url.includes("elsewhere")));
  },
);

journey(
  "dark where the reader wants it so, and light again",
  { body: growth, colorScheme: "dark" },
  async (page) => {
    const ground = (fill) => page.locator(`weir-chart .ground[fill="${fill}"]`).waitFor();
    await ground("#141d23");
    await accessible(page, "dark");
    await shoot(page, "chart-dark");
    await page.emulateMedia({ colorScheme: "light" });
    await ground("#ffffff");
    await page.locator("weir-chart").evaluate((one) => one.setAttribute("theme", "dark"));
    await ground("#141d23");
  },
);

const instead = (host) =>
  `<weir-chart src="${host}/chart/wrong"><a href="${host}/chart/wrong">The chart</a></weir-chart>
   <weir-chart src="${host}/chart/html"><p>Another</p></weir-chart>
   <weir-chart src="javascript:alert(1)"><p>A third</p></weir-chart>`;
journey(
  "where it fails, the page's own is shown, and why",
  { body: instead, allow: "Failed to load resource.*404" },
  async (page) => {
    await page.getByRole("link", { name: "The chart" }).waitFor();
    await page.getByText("no such <b>chart</b>; try growth").waitFor();
    await page.getByText("Another").waitFor();
    await page.getByText("A third").waitFor();
    assert.equal(await page.locator("weir-chart b").count(), 0);
    // The element recovers after a valid answer.
    await page
      .locator("weir-chart")
      .first()
      .evaluate((one) =>
        one.setAttribute("src", one.getAttribute("src").replace("wrong", "growth")),
      );
    await page.locator("weir-chart svg.weir-chart").waitFor();
    await page.getByRole("link", { name: "The chart" }).waitFor({ state: "hidden" });
  },
);

journey("narrow windows", { body: growth, viewport: NARROW, lang: "de" }, async (page, host) => {
  await page.locator("weir-chart svg.weir-chart").waitFor();
  assert.ok(
    host.asked.some((url) => url.includes("width=320&height=420&lang=de")),
    host.asked,
  );
  await fits(page, "a chart");
  await page.getByRole("button", { name: "Herunterladen und teilen" }).first().click();
  await fits(page, "the menu");
  await shoot(page, "chart-narrow");
  assert.equal(await src(page), `${host.url}/chart/growth`);
  // With more room, the element requests a fitting picture.
  await page.setViewportSize(WIDE);
  await page.waitForFunction(
    () => document.querySelector("weir-chart").shadowRoot.querySelector("[aria-busy]") === null,
  );
  while (!host.asked.some((url) => /width=(960|1200)/.test(url))) await page.waitForTimeout(50);
});
