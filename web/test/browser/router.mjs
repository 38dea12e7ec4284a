// Setup of a real router by the keyboard, from a browser in its LAN: tests/netns/setup.rs has the
// router. WEIR_SETUP_PHASE: "begin", up to the change of the address; then "confirm", at the new
// one. WEIR_WEB_URL, WEIR_WEB_PASSWORD as in run.mjs; WEIR_SETUP_CLAIM: the code of the console.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, fits, launch, NARROW, open, shoot } from "./browser.mjs";
import { tab } from "./steps.mjs";

const {
  WEIR_WEB_URL: url,
  WEIR_WEB_PASSWORD: password,
  WEIR_SETUP_CLAIM: claim,
  WEIR_SETUP_PHASE: phase,
} = process.env;

/** Replaces the text of the focused field. */
async function write(page, selector, text) {
  await tab(page, selector);
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
}

async function press(page, selector) {
  await tab(page, selector);
  await page.keyboard.press("Enter");
}

/** Presses "next", and waits for the step that follows. */
async function on(page, step) {
  await press(page, ".step-buttons [type=submit]");
  await page.locator(`.step-${step}`).waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "step-title");
  await fits(page, step);
  await accessible(page, `${step} of a router`);
  await shoot(page, `router-${step}`);
}

async function begin(page) {
  await page.goto("/");
  await page.waitForFunction(() => document.activeElement?.id === "code");
  await page.keyboard.type(claim);
  await write(page, "#password", password);
  await write(page, "#again", password);
  await page.keyboard.press("Enter");
  await page.locator("#main h1").waitFor();
  await press(page, ".menu");
  await press(page, 'nav a[href="#/setup"]');
  await page.locator(".step-language").waitFor();

  await on(page, "router");
  // The router's own problem with the typed text.
  await write(page, "#setup-router-name", "my router!");
  await page.locator("#setup-router-name-wrong").waitFor();
  await write(page, "#setup-router-name", "linde");
  await page.locator("#setup-router-name-wrong").waitFor({ state: "detached" });
  await write(page, "#setup-router-password", "four horses in a tin can");
  await page.locator(".strength .meter .good").waitFor();

  await on(page, "internet");
  await press(page, ".detect-controls .button");
  await page.locator(".evidence li").first().waitFor();
  await page.locator(".detect .notice").waitFor();

  await on(page, "wifi");
  // The router has radios, and no network yet.
  await write(page, "#setup-wifi-networks-0-ssid", "Zur Linde");
  await write(page, "#setup-wifi-networks-0-key", "four more horses");
  await on(page, "services");
  await press(page, "#group-lan > summary");
  await write(page, "#setup-lan-address", "192.168.77.1/24");
  await on(page, "summary");
  await page.locator(".diff-added", { hasText: "192.168.77.1" }).first().waitFor();
  await page.locator("main", { hasText: "The router is called linde." }).waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /four horses/);
  await press(page, ".apply .primary");
  // Still by the old address.
  await page.locator('.pending a[href^="https://192.168.77.1:"]').waitFor();
  await shoot(page, "router-applied");
}

async function confirm(page) {
  await page.goto("/#/setup");
  await page.waitForFunction(() => document.activeElement?.id === "password");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.locator(".pending").waitFor();
  await accessible(page, "a change that waits");
  await shoot(page, "router-pending");
  await press(page, ".pending .primary");
  await page.locator(".pending-room .notice.good").waitFor();
}

test(`a router is set up: ${phase}`, async () => {
  const browser = await launch();
  const opened = await open(browser, url, { viewport: NARROW });
  try {
    await (phase === "begin" ? begin : confirm)(opened.page);
    // Requests fail while the address changes, and the browser reports that.
    opened.clean(phase === "begin" ? /Failed to load resource/ : /^$/);
  } finally {
    await opened.close();
    await browser.close();
  }
});
