// A browser that the tests drive, and checks for errors.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.WEIR_CHROMIUM ?? "/usr/bin/chromium-headless-shell";

/** Each launch has a fresh profile. `more` are further arguments for the browser. */
export async function launch(more = []) {
  if (!existsSync(CHROMIUM))
    throw new Error(`no browser at ${CHROMIUM}: run scripts/setup, or set WEIR_CHROMIUM`);
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}

/** Longest time of a step, ms: long, as the machine may be busy with other tests. */
export const PATIENCE = Number(process.env.WEIR_WEB_PATIENCE ?? 90_000);

export const WIDE = { width: 1440, height: 900 };
export const NARROW = { width: 360, height: 740 };

/**
 * A page of its own that records errors: on the console, exceptions, requests to another origin.
 * `clean()` fails on any error; `allow` matches errors that a test provokes.
 */
export async function open(
  browser,
  base,
  {
    locale = "en-GB",
    colorScheme = "light",
    viewport = WIDE,
    reducedMotion = "reduce",
    ignoreHTTPSErrors = true,
    javaScriptEnabled = true,
    hasTouch = false,
  } = {},
) {
  const context = await browser.newContext({
    locale,
    colorScheme,
    viewport,
    reducedMotion,
    baseURL: base,
    ignoreHTTPSErrors,
    javaScriptEnabled,
    hasTouch,
  });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(base).origin)
      faults.push(`asks elsewhere: ${request.url()}`);
  });
  return {
    page,
    clean(allow = /^$/) {
      assert.deepEqual(
        faults.filter((fault) => !allow.test(fault)),
        [],
      );
    },
    close: () => context.close(),
  };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails if axe finds any problem in the page as it is. */
export async function accessible(page, what) {
  await page.evaluate(`if (!window.axe) { ${AXE} }`);
  const violations = await page.evaluate(async () => {
    // Further down, a narrow page's bar covers a part of something, wherever one scrolls to.
    window.scrollTo(0, 0);
    const found = await window.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      // The guests' preview is in a frame of no origin once loaded: axe cannot inspect it.
      iframes: false,
    });
    return found.violations.map((violation) => ({
      rule: violation.id,
      where: violation.nodes
        .slice(0, 4)
        .map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? node.failureSummary}`),
    }));
  });
  assert.deepEqual(violations, [], `axe: ${what}`);
}

/** Checks that nothing is wider than the window, so that no sideways scrolling is needed. */
export async function fits(page, what) {
  const wide = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.ok(wide <= 0, `${what} is ${wide} pixels wider than the window`);
}

/** Saves a picture of the whole page, if WEIR_WEB_SHOTS names a directory. */
export async function shoot(page, name) {
  const directory = process.env.WEIR_WEB_SHOTS;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true });
}
