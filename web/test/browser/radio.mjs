// Power and peers of access points, by the keyboard alone: in a wide window, and in a narrow one
// from right to left. Uses the mock server. WEIR_WEB_SHOTS=DIRECTORY saves pictures, of both
// languages at both widths.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { serve } from "../mock/server.mjs";
import { accessible, fits, launch, NARROW, open, PATIENCE, shoot } from "./browser.mjs";
import { logIn, tab, visit } from "./steps.mjs";

const password = "weir weir";
const WIDE = { width: 1400, height: 900 };
const skip = process.env.WEIR_WEB_URL ? "needs the mock server" : false;

let browser;

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
});

/** A test with a router and a page of its own, in which no error may occur. */
function journey(name, options, walk) {
  test(name, { skip, timeout: 2 * PATIENCE }, async () => {
    const mock = await serve({ password });
    const opened = await open(browser, mock.url, options);
    try {
      await walk(opened.page, mock.state.radio);
      opened.clean();
    } finally {
      await opened.close();
      await mock.close();
    }
  });
}

/** Takes pictures of the page, light and dark. */
const looker = (page, language, size) => async (what) => {
  await fits(page, what);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, `${what}, ${language}, ${colorScheme}, ${size}`);
    await shoot(page, `radio-${what}-${language}-${colorScheme}-${size}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
};

async function byKeyboard(page, { language, size }) {
  const look = looker(page, language, size);
  await page.goto("/");
  await page.waitForFunction(() => document.activeElement?.id === "password");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.locator("#main h1").waitFor();
  if (size === "narrow") {
    await tab(page, ".menu");
    await page.keyboard.press("Enter");
  }
  await tab(page, 'nav a[href="#/radio"]');
  await page.keyboard.press("Enter");
  await page.locator(".radio-room svg .radio-line").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
  assert.equal(await page.locator("main > div[lang=en]").count(), 0, "it is translated");
  assert.equal(await page.locator(".radio-power").count(), 2);
  await page.locator(".radio-peers tbody tr").nth(4).waitFor();
  // Names from the network are plain text.
  assert.equal(await page.locator("main img, main b, main script").count(), 0);
  assert.doesNotMatch(await page.locator("main").innerText(), /\u202e/);

  // Every shape is drawn, and none beyond its picture.
  const shapes = await page.evaluate(() => {
    const svg = document.querySelector(".radio-room svg");
    const box = svg.getBoundingClientRect();
    const all = [...svg.querySelectorAll("circle, rect, path")];
    const outside = all.filter((one) => {
      const own = one.getBoundingClientRect();
      return own.left < box.left || own.right > box.right + 6 || own.bottom > box.bottom;
    });
    const of = (what) => svg.querySelectorAll(`.radio-${what}`).length;
    return {
      outside: outside.map((one) => one.outerHTML),
      least: Math.min(of("throughput"), of("reference"), of("rate"), of("telling")),
    };
  });
  assert.deepEqual(shapes.outside, []);
  assert.ok(shapes.least > 10, JSON.stringify(shapes));

  // Arrow keys read single steps, and the selected step stays as time goes on.
  await tab(page, ".radio-room");
  const said = () => page.locator(".chart [aria-live]").first().innerText();
  const heard = [];
  for (const key of ["ArrowLeft", "ArrowLeft", "Home", "End"]) {
    const before = heard.at(-1) ?? "";
    await page.keyboard.press(key);
    await page.waitForFunction((former) => {
      const now = document.querySelector(".chart [aria-live]")?.textContent ?? "";
      return now !== former && /dBm/.test(now);
    }, before);
    heard.push(await said());
  }
  assert.equal(await page.locator(".radio-room .at").count(), 1);
  await look("all");

  // A table has the same information for users who cannot see pictures.
  await tab(page, ".radio-steps summary");
  await page.keyboard.press("Enter");
  await page.locator(".radio-steps tbody tr").nth(10).waitFor();
  await tab(page, ".radio-steps th .sort");
  await look("steps");
}

for (const language of ["en", "ar"]) {
  for (const [size, viewport] of [
    ["wide", WIDE],
    ["narrow", NARROW],
  ]) {
    if (!process.env.WEIR_WEB_SHOTS && (language === "en") !== (size === "wide")) continue;
    journey(
      `radios, by the keyboard: ${language}, ${size}`,
      { locale: language === "en" ? "en-GB" : language, viewport },
      (page) => byKeyboard(page, { language, size }),
    );
  }
}

journey("peers that are not encrypted are told of, in words", {}, async (page, radio) => {
  await logIn(page, password);
  await visit(page, "radio");
  const rows = page.locator(".radio-peers tbody tr");
  await rows.nth(5).waitFor();
  const shown = await rows.evaluateAll((all) =>
    all.map((row) => [
      row.querySelector("th").textContent.slice(-2),
      row.querySelector(".radio-key")?.textContent,
      row.querySelectorAll(".radio-key .icon").length,
    ]),
  );
  assert.deepEqual(shown, [
    ["01", "encrypted", 1],
    ["02", "not encrypted", 1],
    ["03", undefined, 0],
    ["04", undefined, 0],
    ["05", undefined, 0],
    ["06", undefined, 0],
  ]);
  for (const why of ["Waiting: the signal is too weak", "Waiting: there are enough peers"])
    await rows.filter({ hasText: why }).waitFor();
  await rows.filter({ hasText: "1 d 2 h" }).first().waitFor();
  const warning = page.locator(".radio-peers .notice.bad");
  assert.match(await warning.innerText(), /^1 peer is not encrypted/);
  radio.peers = radio.peers.map((peer) => ({ ...peer, encrypted: true }));
  await warning.waitFor({ state: "detached" });
  radio.peers = [];
  await page.getByText("No access point with the secret is in range.").waitFor();
});

journey("a radio that is watched, is still, or is none, says so", {}, async (page, radio) => {
  await logIn(page, password);
  await visit(page, "radio");
  await page.locator(".radio-room").waitFor();
  radio.still = true;
  await page.locator(".radio-room").waitFor({ state: "detached" });
  assert.equal(await page.getByText("Nothing was tried in this period.").count(), 2);
  radio.mode = "watch";
  await page.getByText("weir only watches the power").first().waitFor();
  await accessible(page, "radios that are watched");
  await shoot(page, "radio-watch");
  radio.radios = [];
  await page.getByText("This router has no access point at the moment.").waitFor();
  // Without power data, peers are still shown.
  radio.mode = "off";
  await page.locator(".radio-off pre").waitFor();
  await page.locator(".radio-peers").waitFor();
  await accessible(page, "power that is not looked at");
  await shoot(page, "radio-off");
  radio.peering = "";
  await page.locator(".radio-peers").waitFor({ state: "detached" });
});

journey("no view of radios where there are none", {}, async (page, radio) => {
  Object.assign(radio, { off: true, mode: "off", peering: "" });
  await logIn(page, password);
  await page.locator('nav a[href="#/devices"]').waitFor();
  assert.equal(await page.locator('nav a[href="#/radio"]').count(), 0);
  // The page explains how to enable the module.
  await page.goto("/#/radio");
  await page.locator(".radio-off pre").waitFor();
});
