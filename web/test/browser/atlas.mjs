// The atlas as people meet it: a real `weir-atlas serve` with the real data, each page and chart
// wide and narrow, light and dark; by keys alone, without script, on paper, and in somebody else's
// page under a strict policy. WEIR_ATLAS names the program, WEIR_ATLAS_DATA a
// folder with data that is there already; WEIR_WEB_SHOTS=DIRECTORY saves pictures.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { stranger } from "../mock/atlas.mjs";
import { accessible, fits, launch, NARROW, open, PATIENCE, shoot } from "./browser.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const program = process.env.WEIR_ATLAS ?? join(target, "debug/weir-atlas");
const WIDE = { width: 1280, height: 900 };
const SIZES = [
  ["wide", WIDE],
  ["narrow", NARROW],
];
/** What charts need to be asked. */
const ASKED = { community: "key=ffac-acffapi" };

let browser;
let folder;
let served;
let base;
let charts;

before(async () => {
  let imported = process.env.WEIR_ATLAS_DATA;
  if (imported === undefined) {
    imported = folder = mkdtempSync(join(tmpdir(), "weir-atlas-"));
    const words = ["import", join(root, "crates/atlas/data/freifunk.tar.xz"), "--data", folder];
    execFileSync(program, words, { stdio: ["ignore", "ignore", "pipe"] });
  }
  const serve = ["serve", "--listen", "127.0.0.1:0", "--data", imported];
  served = spawn(program, serve, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface(served.stdout), "line");
  base = line.trim().replace(/\/$/, "");
  browser = await launch();
  const page = await fetch(`${base}/`).then((answer) => answer.text());
  const named = [...page.matchAll(/href="\/chart\/([a-z-]+)/g)].map(([, name]) => name);
  charts = [...new Set([...named, ...Object.keys(ASKED)])];
});

after(async () => {
  await browser?.close();
  served?.kill();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** A test with a page of its own, at which nothing may go wrong. */
function journey(name, { allow, ...options }, walk) {
  test(name, { timeout: 4 * PATIENCE }, async () => {
    const opened = await open(browser, base, { viewport: WIDE, ...options });
    try {
      await walk(opened.page);
      opened.clean(allow);
    } finally {
      await opened.close();
    }
  });
}

/** Waits until a chart is drawn, and nothing is on its way. */
const drawn = (page) =>
  page.waitForFunction(() =>
    [...document.querySelectorAll("weir-chart")].every((chart) => {
      const shadow = chart.shadowRoot;
      return shadow?.querySelector("svg.weir-chart") && !shadow.querySelector("[aria-busy]");
    }),
  );

/** Looks at a page, in light and dark. */
async function look(page, name, size) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await drawn(page);
    await fits(page, `${name}, ${size}, ${colorScheme}`);
    await accessible(page, `${name}, ${size}, ${colorScheme}`);
    await shoot(page, `atlas-${name}-${size}-${colorScheme}`);
  }
}

for (const [size, viewport] of SIZES) {
  journey(`every chart, ${size}`, { viewport }, async (page) => {
    assert.ok(charts.length >= 12, `${charts}`);
    for (const name of charts) {
      await page.goto(`/chart/${name}?${ASKED[name] ?? ""}`);
      await page.locator(".stage svg.weir-chart").waitFor();
      assert.equal(await page.locator("h1").count(), 1);
      await look(page, name, size);
      // There is something to see, and it has a name.
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

const state = (page) => page.evaluate(() => location.pathname + location.search);
const handle = (page) => page.locator("weir-chart .handle[role=slider]");
/** Goes to something in the chart by Tab alone, and sees that it shows that it has the focus. */
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
const goesTo = (page, pattern) => page.waitForURL((url) => pattern.test(url.href));

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
  // The same state anew, from its address.
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
  // The browser's own way back and forth.
  await page.goBack();
  await goesTo(page, /\/chart\/growth$/);
  await page.locator(".stage svg[data-by=month]").first().waitFor();
  assert.equal(await page.locator("[name=from]").inputValue(), "");
  await page.goForward();
  await page.locator(".stage svg[data-by=day]").first().waitFor();
  assert.notEqual(await page.locator("[name=from]").inputValue(), "");
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
        // What is outside the window a frame does not draw.
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

/** What there is to copy of a chart. */
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
    // The script stands in the page's head.
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
      // Letters of a picture are as large as they were meant, also on a telephone.
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

journey("notes stand once, and odd numbers are marked", {}, async (page) => {
  await page.goto("/chart/growth?from=2019");
  await drawn(page);
  const says = "Each point is the mean of its month.";
  await page.locator(".notes").getByText(says).waitFor();
  const inPicture = page.locator(".stage svg text").filter({ hasText: says });
  assert.equal(await inPicture.count(), 0);
  // Also in the pictures that come later.
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
  // What lies over the shadows scrolls with the rows, the shadows do not.
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
  journey("as docs/atlas.md shows it", documents, async (page) => {
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
