// Shared parts of the atlas's browser tests: a real `weir-atlas serve` with the real data, a
// browser, and waiting for charts. WEIR_ATLAS names the program, WEIR_ATLAS_DATA a folder with
// existing data.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, fits, launch, NARROW, open, PATIENCE, shoot } from "../browser.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const program = process.env.WEIR_ATLAS ?? join(target, "debug/weir-atlas");
export const WIDE = { width: 1280, height: 900 };
export const SIZES = [
  ["wide", WIDE],
  ["narrow", NARROW],
];
/** Required parameters of charts. */
export const ASKED = { community: "key=ffac-acffapi" };

export let browser;
let folder;
let served;
export let base;
export let charts;

before(async () => {
  let imported = process.env.WEIR_ATLAS_DATA;
  if (imported === undefined) {
    imported = folder = mkdtempSync(join(tmpdir(), "weir-atlas-"));
    const words = ["import", join(root, "products/atlas/data/freifunk.tar.xz"), "--data", folder];
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

/** A test with a page of its own, in which no error may occur. */
export function journey(name, { allow, ...options }, walk) {
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
export const drawn = (page) =>
  page.waitForFunction(() =>
    [...document.querySelectorAll("weir-chart")].every((chart) => {
      const shadow = chart.shadowRoot;
      return shadow?.querySelector("svg.weir-chart") && !shadow.querySelector("[aria-busy]");
    }),
  );

/** Takes pictures of a page, in light and dark. */
export async function look(page, name, size) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await drawn(page);
    await fits(page, `${name}, ${size}, ${colorScheme}`);
    await accessible(page, `${name}, ${size}, ${colorScheme}`);
    await shoot(page, `atlas-${name}-${size}-${colorScheme}`);
  }
}

/** Waits until the page has an address. */
export const goesTo = (page, pattern) => page.waitForURL((url) => pattern.test(url.href));
