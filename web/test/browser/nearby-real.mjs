// The page of weir-nearby with the real program: two instances, joined by IP, each with its page in
// a browser. A message on one is read and answered on the other. WEIR_NEARBY names the program.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, fits, launch, open, PATIENCE } from "./browser.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const program = process.env.WEIR_NEARBY ?? join(target, "debug/weir-nearby");
const FAMILY = "👨\u200d👩\u200d👧";
const HOSTILE =
  '<img src=x onerror="window.ran=1"><script>window.ran=2</script>\u202egnp.exe\u0007 &amp; ' +
  `${FAMILY} two\nlines`;
const SHOWN = HOSTILE.replace("\u202e", "\ufffd").replace("\u0007", "\ufffd");

let browser;
let folder;
const nodes = [];

/** Starts an instance, and waits for the addresses of its page and its door. */
async function run(name, more) {
  const words = ["--socket", join(folder, `${name}.sock`), "run", "--adapter", "none"];
  words.push("--state", join(folder, name), "--village", join(folder, "secret"));
  words.push("--listen", "127.0.0.1:0", "--page", "127.0.0.1:0", ...more);
  const env = { ...process.env, WEIR_LOG: "info" };
  const child = spawn(program, words, { env, stdio: ["ignore", "ignore", "pipe"] });
  const node = { child, name, door: "", page: "" };
  nodes.push(node);
  for await (const line of createInterface(child.stderr)) {
    node.door = line.match(/listening for nodes .*address=(\S+)/)?.[1] ?? node.door;
    node.page = line.match(/the page is at (\S+)\//)?.[1] ?? node.page;
    if (node.door && node.page) break;
  }
  assert.ok(node.page, `${name} ended before it had a page`);
  // Discards further output.
  child.stderr.resume();
  return node;
}

const ask = (node, ...words) =>
  execFileSync(program, ["--socket", join(folder, `${node.name}.sock`), ...words]).toString();

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-nearby-"));
  const secret = execFileSync(program, ["village"]);
  writeFileSync(join(folder, "secret"), secret, { mode: 0o600 });
  writeFileSync(join(folder, "token"), "0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  for (const { child } of nodes) {
    const ended = child.exitCode === null && once(child, "exit");
    child.kill();
    await ended;
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

const near = (page, count) =>
  page.waitForFunction((many) => document.querySelectorAll(".peer").length === many, count);

async function say(page, text) {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

test("two talk by their pages", { timeout: 4 * PATIENCE }, async () => {
  const one = await run("one", []);
  const two = await run("two", ["--node", one.door, "--page-token", join(folder, "token")]);
  const here = await open(browser, one.page);
  const there = await open(browser, two.page);
  await here.page.goto("/");
  await there.page.goto("/");
  await there.page.locator("#token").fill("0123456789abcdef0123456789abcdef");
  await there.page.keyboard.press("Enter");
  for (const { page } of [here, there]) {
    await page.getByText("Connected", { exact: true }).waitFor();
    await near(page, 1);
  }
  await say(here.page, HOSTILE);
  const text = (page, at) => page.locator(".message-text").nth(at);
  await text(there.page, 0).waitFor();
  assert.equal(await text(there.page, 0).textContent(), SHOWN);
  const fate = here.page.locator(".message.own .message-fate");
  await fate.filter({ hasText: /^Reached 1 of 1$/ }).waitFor();
  await say(there.page, `Here ${FAMILY}`);
  await text(here.page, 1).waitFor();
  assert.equal(await text(here.page, 1).textContent(), `Here ${FAMILY}`);
  // A user at a terminal takes part, too.
  ask(two, "send", "all", "by hand");
  await text(here.page, 2).waitFor();
  const past = JSON.parse(ask(one, "peers", "--json"));
  assert.deepEqual(past.peers[0].formats, ["ip"]);
  for (const { page } of [here, there]) {
    await accessible(page, "messages");
    await fits(page, "messages");
    assert.equal(await page.evaluate(() => window.ran), undefined);
  }
  // The program ends, and its page reports that; the other has no peer after a while.
  two.child.kill();
  await there.page.getByText("Connected", { exact: true }).waitFor({ state: "hidden" });
  await near(here.page, 0);
  await say(here.page, "and later");
  await here.page.getByText("No peer is nearby. Waiting for peers that are away: 1.").waitFor();
  here.clean();
  there.clean(/401|Failed to load|ERR_|NetworkError/);
  await here.close();
  await there.close();
});
