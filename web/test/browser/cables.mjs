// Roles of ports, by the keyboard alone: at two widths and in three languages, one of which is
// written from right to left. Uses the mock server. WEIR_WEB_SHOTS=DIRECTORY saves pictures;
// WEIR_WEB_LANGUAGES=en,de names the languages.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { moves } from "../mock/cables.mjs";
import { serve } from "../mock/server.mjs";
import { accessible, fits, launch, NARROW, open, PATIENCE, shoot } from "./browser.mjs";
import { logIn, tab, visit } from "./steps.mjs";

const password = "weir weir";
const WIDE = { width: 1400, height: 900 };
const LANGUAGES = (process.env.WEIR_WEB_LANGUAGES ?? "en,de,ar").split(",");

let browser;

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
});

/** A test with a router and a page of its own, in which no error may occur. */
function journey(name, options, walk) {
  const skip = process.env.WEIR_WEB_URL
    ? "needs the mock server"
    : options.only === false && "needs WEIR_WEB_SHOTS";
  test(name, { skip, timeout: 2 * PATIENCE }, async () => {
    const mock = await serve({ password });
    const opened = await open(browser, mock.url, options);
    try {
      await walk(opened.page, mock.state.cables, mock);
      opened.clean(options.allow);
    } finally {
      await opened.close();
      await mock.close();
    }
  });
}

/** Roles of the sockets, in order, from their classes. */
const roles = (page) =>
  page
    .locator(".socket")
    .evaluateAll((all) => all.map((one) => /role-(\w+)/.exec(one.className)?.[1]));

/** Waits until a port has this role. */
const is = (page, device, role) =>
  page.locator(`.socket.role-${role}:has(input[value="${device}"])`).waitFor();

const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

/** Returns a function that takes pictures of the page, light and dark. */
const looker = (page, language, size) => async (what) => {
  await fits(page, what);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, `${what}, ${language}, ${colorScheme}, ${size}`);
    await shoot(page, `cables-${what}-${language}-${colorScheme}-${size}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
};

async function byKeyboard(page, cables, { language, size }) {
  const look = looker(page, language, size);
  // Stays so during this check.
  cables.settles = Number.POSITIVE_INFINITY;
  await page.goto("/");
  await page.waitForFunction(() => document.activeElement?.id === "password");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.locator("#main h1").waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), language);
  if (size === "narrow") {
    await tab(page, ".menu");
    await page.keyboard.press("Enter");
  }
  await tab(page, 'nav a[href="#/cables"]');
  await page.keyboard.press("Enter");
  await page.locator(".socket").first().waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
  assert.equal(await page.locator("main > div[lang=en]").count(), 0, "it is translated");
  await page.locator(".socket").nth(4).waitFor();
  const shown = await roles(page);
  assert.deepEqual([...shown].sort(), ["client", "listening", "loop", "none", "uplink"]);
  assert.equal(await page.locator(".socket-drawn").count(), 5);
  assert.equal(await page.locator(".socket-plug").count(), 4, "a plug where there is a link");
  // Colour is never the only sign.
  for (const text of await page.locator(".socket-role").allInnerTexts())
    assert.ok(text.trim() !== "");
  assert.equal(await page.locator(".socket-role .icon").count(), 5);
  // An unavailable role cannot be accepted.
  await tab(page, "input[name=port]");
  const chosen = () => page.locator(".socket input:checked").inputValue();
  const choose = async (device) => {
    for (let step = 0; (await chosen()) !== device; step += 1) {
      assert.ok(step < 6, `${device} is reached by arrow keys`);
      await page.keyboard.press("ArrowDown");
    }
    await page.waitForURL((url) => url.hash.endsWith(`port=${device}`));
  };
  await choose("lan2");
  await page.locator(".port.role-loop .notice.warn").nth(1).waitFor();
  assert.equal(await page.locator(".port-accept").getAttribute("aria-disabled"), "true");
  assert.equal(await page.locator(".port-auto").getAttribute("aria-disabled"), "true");
  await look("loop");
  await choose("lan3");
  await page.locator(".port.role-listening").waitFor();
  await look("listening");
  assert.equal(await page.locator(".news .notice").count(), 0, "nothing has changed yet");
  cables.settles = 0;
  await is(page, "lan3", "switch");
  await page.locator(".news[aria-live=polite] .notice", { hasText: "lan3" }).waitFor();
  assert.equal(await page.locator(".news .notice").count(), 1);
  assert.equal(await page.locator(".heard .at-decided").count(), 1);

  // Accepts the suggestion for another port, and reverts that.
  await choose("wan");
  await page.locator(".port.role-uplink").waitFor();
  await look("uplink");
  await tab(page, ".port-accept");
  await page.keyboard.press("Enter");
  await page.locator(".port-done .notice.good").waitFor();
  assert.deepEqual(cables.held, { wan: "uplink" });
  await page.locator(".port .tag.own").waitFor();
  assert.equal(
    await page.evaluate(() => document.activeElement?.classList.contains("port-accept")),
    true,
    "the focus stays",
  );
  assert.equal(await page.locator(".port-accept").getAttribute("aria-disabled"), "true");
  await page.keyboard.press("Enter");
  await tab(page, ".port-auto");
  await page.keyboard.press("Enter");
  await page.locator(".port .tag.own").waitFor({ state: "detached" });
  assert.deepEqual(cables.held, {});
  // Another role, by the list.
  await tab(page, "#port-role");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("#port-role").inputValue(), "mesh");
  await tab(page, ".port-keep [type=submit]");
  await page.keyboard.press("Enter");
  await is(page, "wan", "mesh");
  assert.deepEqual(cables.held, { wan: "mesh" });
  await page.locator(".news .notice", { hasText: "wan" }).waitFor();
  await look("held");
  const happened = await page.locator(".happened li").allInnerTexts();
  assert.equal(happened.length, 7);
  assert.match(happened[0], /\bwan\b/);
  assert.match(happened[6], /\bwan\b/);
  assert.equal(await page.locator(".socket-bar, .port-shut").count(), 0, "nothing is kept apart");
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.doesNotMatch(await page.locator("main").innerText(), controls);
}

/** Automatic moves: one port is separate while listening, one is a loop, one cannot be moved. */
async function byItself(page, cables, { language, size }) {
  const look = looker(page, language, size);
  moves(cables);
  cables.settles = Number.POSITIVE_INFINITY;
  await logIn(page, password);
  await page.goto("/#/cables?port=lan3");
  await page.locator(".port.role-listening .port-shut").waitFor();
  // A sign and a word mark each separate port, and no other.
  for (const sign of [".socket-bar", ".socket-shut .icon"])
    assert.equal(await page.locator(`.socket ${sign}`).count(), 2, sign);
  for (const text of await page.locator(".socket-shut").allInnerTexts())
    assert.ok(text.trim() !== "");
  await look("apart");
  await tab(page, "input[name=port]");
  const choose = async (device, key) => {
    await page.keyboard.press(key);
    await page.waitForURL((url) => url.hash.endsWith(`port=${device}`));
  };
  await choose("lan2", "ArrowUp");
  await page.locator(".port.role-loop .port-shut").waitFor();
  await choose("lan3", "ArrowDown");
  // The notices have each problem once.
  await choose("lan4", "ArrowDown");
  await page.locator(".port.role-uplink").waitFor();
  const refused = /It cannot become the uplink/g;
  const said = async () => (await page.locator(".port").innerText()).match(refused)?.length;
  assert.equal(await said(), 1);
  assert.equal(await page.locator(".port .notice.warn").count(), 1);
  assert.equal(await page.locator(".port-moving").count(), 0);
  await look("refused");
  await choose("wan", "ArrowDown");
  await page.locator(".port-moving", { hasText: "stays so once that works" }).waitFor();
  assert.equal(await page.locator(".port .notice.warn").count(), 0);
  await look("moved");
  // A role with its use is reported once; a use by itself, too.
  cables.settles = 0;
  await is(page, "lan3", "switch");
  await page.locator(".news .notice", { hasText: "lan3" }).waitFor();
  assert.equal(await page.locator(".news .notice").count(), 1);
  assert.equal(await page.locator(".socket-bar").count(), 1);
  cables.found.lan4 = { ...cables.found.lan4, now: "uplink", moving: null, notices: [] };
  await page.locator(".news[aria-live=polite] .notice", { hasText: "lan4" }).waitFor();
  const many = cables.looks;
  while (cables.looks < many + 2) await page.waitForTimeout(100);
  assert.equal(await page.locator(".news .notice").count(), 2);
  assert.equal(await page.locator("main img, main script, main b").count(), 0);
  assert.doesNotMatch(await page.locator("main").innerText(), controls);
}

for (const language of LANGUAGES) {
  for (const [size, viewport] of [
    ["narrow", NARROW],
    ["wide", WIDE],
  ]) {
    const locale = { en: "en-GB", de: "de-DE", ar: "ar" }[language] ?? language;
    journey(`by the keyboard, ${language}, ${size}`, { locale, viewport }, (page, cables) =>
      byKeyboard(page, cables, { language, size }),
    );
    journey(`ports that weir moves, ${language}, ${size}`, { locale, viewport }, (page, cables) =>
      byItself(page, cables, { language, size }),
    );
  }
}

journey("what goes wrong is told", { allow: /status of (404|500)/ }, async (page, cables) => {
  await logIn(page, password);
  await page.goto("/#/cables?port=wan");
  await page.locator(".port.role-uplink").waitFor();
  cables.full = true;
  await page.locator(".port-accept").click();
  await page.locator(".port-done [role=alert]", { hasText: "No space left" }).waitFor();
  await accessible(page, "a choice that is not written");
  await shoot(page, "cables-failed");
  // The name of a device may have special characters, which have no effect.
  await page.locator(".socket.role-none").click();
  await page.locator(".card.port.role-none").waitFor();
  assert.match(await page.locator(".card.port h2").innerText(), /^<b>p\ufffd4$/);
  await page.locator(".port-keep [type=submit]").click();
  await page.locator(".port-done [role=alert]", { hasText: "no port is called" }).waitFor();
  await fits(page, "a port that is not found");
  assert.equal(await page.locator("main b").count(), 0);
});

journey("a port that is gone is no other", {}, async (page, cables) => {
  await logIn(page, password);
  await page.goto("/#/cables?port=lan1");
  await page.locator(".port.role-client").waitFor();
  const { lan1, ...rest } = cables.found;
  cables.found = rest;
  await page.getByText("Port lan1 does not exist at the moment.").waitFor();
  assert.equal(await page.locator(".port, .port-keep").count(), 0);
  await accessible(page, "a port that is gone");
  cables.found = { ...rest, lan1: { ...lan1, role: "radio" } };
  await page.locator(".port.role-radio").waitFor();
  cables.found = {};
  await page.locator("main .nothing").waitFor();
  await accessible(page, "no ports");
});

journey("changes are told, the last first, and no more than three", {}, async (page, cables) => {
  cables.looks = 99;
  await logIn(page, password);
  await visit(page, "cables");
  for (const role of ["client", "radio", "border", "unknown"]) {
    cables.found.wan = { ...cables.found.wan, role };
    await is(page, "wan", role);
  }
  const news = await page.locator(".news .notice").allInnerTexts();
  assert.equal(news.length, 3);
  for (const [index, role] of ["Unknown", "Border", "Radio"].entries())
    assert.match(news[index], new RegExp(`\\d\\d:\\d\\d:\\d\\d wan is now: ${role}$`));
  cables.found.wan = { ...cables.found["<b>p\u202e4"] };
  await is(page, "wan", "none");
  await page.locator(".news .notice", { hasText: "wan is now: No link" }).waitFor();
});

journey("what choosing does is said for either mode", {}, async (page, cables) => {
  await logIn(page, password);
  await visit(page, "cables");
  await page.getByText("weir does not move the port.").waitFor();
  await page.locator(".title", { hasText: "changes nothing" }).waitFor();
  moves(cables);
  await page.getByText("weir moves the port at once.").waitFor();
  await page.locator(".title", { hasText: "moves ports automatically" }).waitFor();
  assert.equal(await page.getByText("weir does not move the port.").count(), 0);
});

const unavailable = { allow: /status of 503/ };
journey("what happened is listed, the newest first", unavailable, async (page, cables) => {
  const [first, ...rest] = cables.events;
  cables.events = [];
  await logIn(page, password);
  await visit(page, "cables");
  const card = page.locator(".card", { has: page.getByRole("heading", { name: "Recent events" }) });
  await card.getByText("No events since weir started.").waitFor();
  await accessible(page, "nothing happened yet");
  cables.events = [first, ...rest];
  const rows = card.locator(".happened li");
  await rows.nth(6).waitFor();
  const told = async () => (await rows.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  const all = await told();
  assert.match(all[0], / wan Moved on trial to: Uplink$/);
  assert.match(all[1], / lan4 Not moved to: Uplink It cannot become the uplink: pppoe needs /);
  assert.match(all[2], / wan Decided: Uplink PPPoE is offered by /);
  assert.match(all[5], / <b>p\ufffd4 Link down$/);
  assert.match(all[6], / wan Link up$/);
  assert.equal(await page.locator("main img, main script, main b").count(), 0);
  assert.doesNotMatch(await page.locator("main").innerText(), controls);
  // Requests only new events, and shows at most twenty.
  const now = (more) => ({ device: "lan1", text: "It is.", when: Date.now() / 1000, ...more });
  const plugs = Array.from({ length: 18 }, () => now({ kind: "link", value: "up" }));
  cables.events.push(...plugs, now({ kind: "new", value: "lan" }));
  await page.waitForFunction(() => document.querySelectorAll(".happened li").length === 20);
  const more = await told();
  assert.match(more[0], /^\d\d:\d\d:\d\d lan1 It is\.$/);
  assert.match(more[19], / wan Moved on trial to: Uplink/);
  await page.waitForResponse((response) => response.url().endsWith("cables/events?after=26"));
  assert.equal(cables.asked.filter((after) => after === 7).length > 0, true);
  assert.equal(cables.asked.at(-1), 26);
  // The list reports a failed request, and keeps the known events.
  cables.deaf = true;
  await card.getByRole("alert").waitFor();
  assert.equal(await rows.count(), 20);
  await accessible(page, "what happened is not told");
  await fits(page, "what happened is not told");
  await shoot(page, "cables-deaf");
  cables.deaf = false;
  await card.getByRole("button").click();
  await card.getByRole("alert").waitFor({ state: "detached" });
  // weir restarted: its numbers begin again.
  cables.events = [first];
  await page.waitForFunction(() => document.querySelectorAll(".happened li").length === 1);
});

journey("what happened is not told from the first", unavailable, async (page, cables) => {
  cables.deaf = true;
  await logIn(page, password);
  await visit(page, "cables");
  const alert = page.getByRole("alert").filter({ hasText: "nothing is told of" });
  await alert.waitFor();
  assert.equal(await page.locator("main img").count(), 0);
  await page.locator(".socket").first().waitFor();
  cables.deaf = false;
  await alert.getByRole("button").click();
  await page.locator(".happened li").nth(6).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
});

journey("what to write where ports are not watched", {}, async (page, cables) => {
  cables.mode = "off";
  await logIn(page, password);
  assert.equal(await page.locator('nav a[href="#/cables"]').count(), 0);
  await page.goto("/#/cables");
  await page.locator(".cables-off").waitFor();
  assert.match(await page.locator(".cables-off pre").innerText(), /^\[cables\]\nmode = "suggest"$/);
  for (const mode of ["suggest", "auto"])
    await page.locator(".cables-off li", { hasText: `mode = "${mode}"` }).waitFor();
  await accessible(page, "ports that are not looked at");
  await fits(page, "ports that are not looked at");
  await shoot(page, "cables-off");
  // Once weir has restarted with that, no action is needed.
  cables.mode = "suggest";
  await page.locator(".socket").first().waitFor();
  await page.locator('nav a[href="#/cables"]').waitFor();
});

const shooting = process.env.WEIR_WEB_SHOTS !== undefined;
const documents = { viewport: { width: 1280, height: 800 }, only: shooting };
journey("as docs/how-to/cables.md shows it", documents, async (page, cables) => {
  const [none] = Object.values(cables.found).slice(-1);
  moves(cables);
  const { wan, lan1, lan2, lan3 } = cables.found;
  const text = "02:00:5e:20:00:01 announces itself as dslam-7 (access node)";
  const evidence = wan.evidence.map((one) => (one.kind === "lldp" ? { ...one, text } : one));
  cables.found = {
    wan: { ...wan, evidence },
    lan1: { ...lan1, now: "none" },
    lan2: { ...lan2, notices: lan2.notices.slice(0, 1) },
    lan3,
    lan4: none,
  };
  cables.settles = Number.POSITIVE_INFINITY;
  const at = Date.now() / 1000 - 30;
  const why = "PPPoE is offered by 02:00:5e:20:00:01 in VLAN 7.";
  cables.events = [
    ["lan2", "role", "loop", "Own frames come back."],
    ["wan", "link", "up", ""],
    ["wan", "role", "uplink", why],
    ["wan", "moved", "uplink", ""],
    ["lan3", "link", "up", ""],
  ].map(([device, kind, value, text], index) => ({ device, kind, value, text, when: at + index }));
  await logIn(page, password);
  await page.goto("/#/cables?port=wan");
  await page.locator(".port.role-uplink").waitFor();
  cables.found.lan1 = lan1;
  await page.locator(".news .notice", { hasText: "lan1 is now in the LAN" }).waitFor();
  await page.locator(".happened li").nth(4).waitFor();
  await shoot(page, "ports");
});
