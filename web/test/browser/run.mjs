// Drives the built page in a browser, with the mock server or a router (WEIR_WEB_URL,
// WEIR_WEB_PASSWORD). Of a router: WEIR_WEB_FIRST sets its first password; WEIR_WEB_PATHS: uplinks,
// with a partner; WEIR_WEB_PORTAL, WEIR_WEB_CABLES, WEIR_WEB_RADIO, WEIR_WEB_SETUP: modules that
// run; WEIR_WEB_VIEWS: views, separated by commas. WEIR_WEB_SHOTS=DIRECTORY saves a picture of each
// view, light and dark, wide and narrow, with the mock's time sped up so that lines have a length.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../mock/server.mjs";
import { HOSTILE } from "../mock/world.mjs";
import { accessible, fits, launch, NARROW, open, shoot, WIDE } from "./browser.mjs";
import * as steps from "./steps.mjs";

const real = process.env.WEIR_WEB_URL;
const password = process.env.WEIR_WEB_PASSWORD ?? "weir weir";
const shooting = process.env.WEIR_WEB_SHOTS !== undefined;
/** Number of uplinks of a router with a partner. */
const uplinks = real ? Number(process.env.WEIR_WEB_PATHS ?? 0) : 3;
/** True if there is a portal. */
const guests = real ? process.env.WEIR_WEB_PORTAL !== undefined : true;
/** True if the router observes its ports. */
const ports = real ? process.env.WEIR_WEB_CABLES !== undefined : true;
/** True if the router has access points. */
const radios = real ? process.env.WEIR_WEB_RADIO !== undefined : true;
/** True if its setup process runs. */
const setup = real ? process.env.WEIR_WEB_SETUP !== undefined : true;
const views = (process.env.WEIR_WEB_VIEWS?.split(",") ?? steps.VIEWS).filter(
  (view) =>
    (view !== "paths" || uplinks > 0) &&
    (setup || !view.startsWith("setup")) &&
    (ports || view !== "cables") &&
    (radios || view !== "radio") &&
    (guests || !["guests", "vouchers", "voucher", "days", "welcome"].includes(view)),
);
const unknown = views.filter((view) => !steps.VIEWS.includes(view));
assert.deepEqual(unknown, [], "WEIR_WEB_VIEWS has views that there are not");
const mockOnly = { skip: real ? "needs the mock server" : false };

let browser;
let mock;
let base;

before(async () => {
  browser = await launch();
  mock = real ? null : await serve({ password, speed: shooting ? 6 : 1 });
  base = real ?? mock.url;
});

after(async () => {
  await browser?.close();
  await mock?.close();
});

/** A test with a page of its own, in which no error may occur. */
function journey(name, options, walk) {
  test(name, options.test ?? {}, async () => {
    const opened = await open(browser, options.base?.() ?? base, options);
    try {
      await walk(opened.page);
      opened.clean(options.allow);
    } finally {
      await opened.close();
    }
  });
}

const first = { skip: process.env.WEIR_WEB_FIRST ? false : "needs a router without a password" };
journey("a router's first password", { test: first }, async (page) => {
  await page.goto("/");
  await page.locator("#again").waitFor();
  await accessible(page, "a router's first password");
  await page.locator("#password").fill(password);
  await page.locator("#again").fill(password);
  await page.locator("form button[type=submit]").click();
  await page.locator("#main h1").waitFor();
});

journey("log-in, dashboard, device, conversation, history, language, theme", {}, async (page) => {
  await steps.logIn(page, password);
  await steps.dashboard(page);
  await steps.device(page);
  await steps.conversation(page);
  await steps.history(page);
  await steps.language(page);
  await steps.theme(page);
  await page.locator(".side-foot button").click();
  await page.locator("#password").waitFor();
});

journey("a device is renamed", {}, async (page) => {
  await steps.logIn(page, password);
  await steps.rename(page);
});

journey(
  "a name that is refused says why",
  { test: mockOnly, allow: /status of 409/ },
  async (page) => {
    await steps.logIn(page, password);
    await steps.visit(page, "device");
    await page.locator("#label-name").fill("refused");
    await page.locator("#label-name").press("Enter");
    await page.getByText("file of device names is full").waitFor();
    assert.equal(await page.locator("#label-name").inputValue(), "refused");
    await accessible(page, "a name that is refused");
  },
);

journey("what needs attention, and where to click", { test: mockOnly }, async (page) => {
  const condition = (severity, key, view, parameters) => ({
    id: `${key} lan1`,
    severity,
    key,
    view,
    parameters,
    text: `${key} in English`,
    since: 1_700_000_000,
    module: "mock",
    subject: "lan1",
  });
  const tell = (...conditions) => {
    mock.state.conditions = { now: 1_700_000_600, conditions };
  };
  const good = page.getByText("Nothing needs attention.");
  try {
    tell(condition("hint", "bloat", "", { name: HOSTILE.markup }));
    await steps.logIn(page, password);
    await good.waitFor();
    assert.equal(await page.locator(".alerts .notice.info").count(), 1);
    tell(
      condition("critical", "loop", "cables", { port: "lan1" }),
      condition("warning", "upload-full", "devices", {
        port: "wan",
        rate: "9800000",
        delay: "370",
      }),
      condition("warning", "something-new", "", {}),
    );
    await good.waitFor({ state: "detached" });
    await page.getByText("something-new in English").waitFor();
    await page.getByText("wan\u2069 is full at 9.80 Mbit/s: packets wait 370 ms").waitFor();
    await accessible(page, "what needs attention");
    await page.getByRole("link", { name: /lan1.* leads back to this router/ }).click();
    await page.waitForURL(/#\/cables\?port=lan1$/);
  } finally {
    mock.state.conditions = undefined;
  }
});

journey(
  "a telephone shows uploads, and who sends most",
  { test: mockOnly, viewport: NARROW },
  async (page) => {
    await steps.logIn(page, password);
    await steps.visit(page, "devices");
    const cell = page.locator("tbody tr .rates").first();
    await cell.waitFor();
    assert.match(await cell.innerText(), /↓[\s\S]*↑/);
    const rate = page.locator("thead th.level-narrow");
    assert.equal(await rate.getAttribute("aria-sort"), "descending");
    await fits(page, "devices on a telephone");
  },
);

const withPaths = { skip: uplinks > 0 ? false : "needs a router with a partner" };
journey("what each path carries", { test: withPaths }, async (page) => {
  await steps.logIn(page, password);
  await steps.paths(page);
  // At a router, of alike uplinks, each has its part before long.
  if (real) {
    await page.waitForFunction((many) => {
      const shares = [...document.querySelectorAll(".path-share")].map((one) =>
        Number.parseInt(one.textContent, 10),
      );
      return shares.every((share) => share * many > 70 && share * many < 130);
    }, uplinks);
  }
  const shares = await steps.shares(page);
  assert.equal(shares.length, uplinks);
  const sum = shares.reduce((all, share) => all + share);
  assert.ok(sum > 97 && sum < 103, `${shares}`);
  if (!real) {
    // One simulated path loses MPTCP, and one address is used twice.
    const says = (text) => page.locator(".notice", { hasText: text }).count();
    assert.equal(await says("A device on the way removes MPTCP"), 1);
    assert.equal(await says("usb1 has the same address as usb0"), 1);
  }
});

const withPortal = { skip: guests ? false : "needs a router with a portal" };
journey("a voucher is sold, renamed and revoked", { test: withPortal }, async (page) => {
  await steps.logIn(page, password);
  await steps.sale(page);
});

journey("ten vouchers are sold and printed", { test: withPortal }, async (page) => {
  await steps.logIn(page, password);
  const sheet = await steps.sheet(page);
  await accessible(page, "ten vouchers");
  // Like the browser's print; needs a check by eye, if pictures are wanted.
  if (process.env.WEIR_WEB_SHOTS) {
    await shoot(page, "ten-vouchers");
    const path = join(process.env.WEIR_WEB_SHOTS, "sheet.pdf");
    await sheet.pdf({ path, preferCSSPageSize: true });
  }
});

journey(
  "what guests read is edited",
  { test: withPortal, allow: /status of 400/ },
  async (page) => {
    await steps.logIn(page, password);
    await steps.welcome(page);
    await accessible(page, "what guests read, with an error");
    await shoot(page, "welcome-edited");
    if (!real) await steps.unwelcome(page);
  },
);

const withPorts = { skip: ports ? false : "needs a router whose ports are looked at" };
journey("a port is kept, and found out again", { test: withPorts }, async (page) => {
  await steps.logIn(page, password);
  const { apart, first } = await steps.port(page);
  if (real) console.log(`${apart} kept apart, ${first} is kept`);
});

journey("somebody else's text is not lost", { test: mockOnly }, async (page) => {
  await steps.logIn(page, password);
  await steps.visit(page, "welcome");
  await page.locator("#welcome-text").fill("mine");
  Object.assign(mock.state.portal.page, { text: "theirs", edited: true });
  await page.getByText("Another administrator has changed the text.").waitFor();
  assert.equal(await page.locator("#welcome-text").inputValue(), "mine");
  await page.getByRole("button", { name: "Use the new text" }).click();
  assert.equal(await page.locator("#welcome-text").inputValue(), "theirs");
  await steps.visit(page, "days");
  await page.getByRole("img", { name: /^Guests by day, from / }).waitFor();
  await page.getByRole("radio", { name: "Volume" }).focus();
  await page.keyboard.press("Space");
  await page.getByRole("img", { name: /^Volume by day, .*GB$/ }).waitFor();
});

journey("a device's time is ended", { test: mockOnly }, async (page) => {
  await steps.logIn(page, password);
  await steps.visit(page, "guests");
  const ends = page.getByRole("button", { name: /^End: / });
  const before = await ends.count();
  // The page asks for confirmation.
  const sure = page.locator(".sure");
  await ends.first().click();
  await sure.getByRole("button", { name: "Keep access" }).click();
  assert.equal(await ends.count(), before);
  await ends.first().click();
  await sure.locator(".primary").click();
  await page.waitForFunction(
    (many) => document.querySelectorAll("tbody .button").length === many,
    before - 1,
  );
  assert.equal(await page.locator("main img, main script").count(), 0);
});

journey(
  "a voucher that was used twice says where",
  { test: mockOnly, allow: /status of 404/ },
  async (page) => {
    await steps.logIn(page, password);
    await steps.visit(page, "vouchers");
    await page.locator("#which").selectOption("expired");
    await page.locator("tbody tr th a").click();
    await page.getByText("It was used twice, at this node and").waitFor();
    assert.doesNotMatch(await page.locator("main").innerText(), /\u202e/);
    await page.goto("/#/vouchers/0000000000000000");
    await page.getByText("This voucher does not exist.").waitFor();
  },
);

journey("closed hours are told of", { test: mockOnly }, async (page) => {
  mock.state.portal.hours = { mode: "closed", seconds: 7200 };
  try {
    await steps.logIn(page, password);
    await steps.visit(page, "guests");
    await page.locator(".notice", { hasText: "Closed: " }).waitFor();
    await page.getByText("2 h left.").waitFor();
  } finally {
    mock.state.portal.hours = { mode: "vouchers", seconds: null };
  }
});

const withoutPaths = { skip: real && uplinks > 0 ? "the router has a partner" : false };
journey("no paths without a partner", { test: withoutPaths }, async (page) => {
  if (mock) mock.state.alone = true;
  try {
    await steps.logIn(page, password);
    await steps.visit(page, "");
    assert.equal(await page.locator('nav a[href="#/paths"]').count(), 0);
    await page.goto("/#/paths");
    await page.getByText("has no partner").waitFor();
  } finally {
    if (mock) mock.state.alone = false;
  }
});

journey(
  "an uplink that goes away stays in the chart, in its colour",
  { test: mockOnly },
  async (page) => {
    await steps.logIn(page, password);
    await page.goto("/#/paths");
    const colour = (name) =>
      page.locator(".legend li", { hasText: name }).locator(".key").getAttribute("class");
    await page.locator(".path-card").nth(2).waitFor();
    await page.waitForFunction(() =>
      /[1-9].*\sMbit\/s/.test(document.querySelector("main .large")?.textContent ?? ""),
    );
    const [ppp, wwan] = [await colour("ppp0"), await colour("wwan0")];
    mock.state.paths = { paths: mock.paths().filter(({ device }) => device !== "ppp0") };
    try {
      await page.locator(".legend li", { hasText: "ppp0 (gone)" }).waitFor();
      assert.equal(await page.locator(".path-card").count(), 2);
      assert.deepEqual([await colour("ppp0"), await colour("wwan0")], [ppp, wwan]);
    } finally {
      mock.state.paths = undefined;
    }
  },
);

journey("a partner that is not reached is told of", { test: mockOnly }, async (page) => {
  mock.state.paths = {
    state: "failed",
    problem: `no answer from ${HOSTILE.override}`,
    redirects: false,
    tunnel: false,
    exposed: ["tcp", "others"],
    paths: [],
  };
  try {
    await steps.logIn(page, password);
    await page.goto("/#/paths");
    await page.locator(".notice.bad", { hasText: "no answer from" }).waitFor();
    await page
      .getByText("New TCP connections go directly: the partner is not connected.")
      .waitFor();
    await page.getByText("Traffic other than TCP goes directly: there is no tunnel.").waitFor();
    assert.doesNotMatch(await page.locator("main").innerText(), /\u202e/);
    await page.locator("main .nothing").waitFor();
    await accessible(page, "paths without a partner");
  } finally {
    mock.state.paths = undefined;
  }
});

journey("with the keyboard only", {}, (page) => steps.keyboard(page, password));

journey("German, as the browser asks for it", { locale: "de-DE" }, async (page) => {
  await page.goto("/");
  await page.getByRole("heading", { name: "Anmelden" }).waitFor();
});

for (const locale of ["de-DE", "es-ES", "fr-FR", "it-IT", "pt-PT", "ar"]) {
  journey(
    `every word fits a narrow window: ${locale}`,
    { locale, viewport: NARROW },
    async (page) => {
      await steps.logIn(page, password);
      const html = page.locator("html");
      assert.equal(await html.getAttribute("lang"), locale.slice(0, 2));
      assert.equal(await html.getAttribute("dir"), locale === "ar" ? "rtl" : "ltr");
      for (const view of views) {
        await steps.visit(page, view);
        assert.equal(await page.locator("main > div[lang=en]").count(), 0, `${view}: English`);
        await fits(page, view || "dashboard");
        if (locale !== "ar") continue;
        await accessible(page, `${view || "dashboard"}, from right to left`);
        await shoot(page, `${view || "dashboard"}-ar-narrow`);
      }
    },
  );
}

journey("from right to left, in a wide window", { locale: "ar" }, async (page) => {
  await steps.logIn(page, password);
  const [side, main] = await Promise.all(
    [".side", "#main"].map((place) => page.locator(place).boundingBox()),
  );
  assert.ok(side.x > main.x, "the navigation is on the right");
  for (const view of views) {
    await steps.visit(page, view);
    await fits(page, view || "dashboard");
    await shoot(page, `${view || "dashboard"}-ar-wide`);
  }
});

journey(
  "a language that cannot be loaded is told of, and the page stays as it is",
  { allow: /ERR_FAILED/ },
  async (page) => {
    await page.route("**/assets/text-fr-*", (route) => route.abort(), { times: 1 });
    await page.goto("/");
    await page.locator("#language").selectOption("fr");
    await page.getByText("This language could not be loaded").waitFor();
    assert.equal(await page.locator("#language").inputValue(), "en");
    await page.locator("#language").selectOption("fr");
    await page.getByRole("heading", { name: "Se connecter" }).waitFor();
  },
);

journey("only the language in use is loaded", { locale: "it-IT" }, async (page) => {
  const loaded = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await page.goto("/");
  await page.getByRole("heading", { name: "Accedi" }).waitFor();
  assert.deepEqual(
    loaded.filter((path) => path.includes("/text-")).map((path) => path.slice(0, 16)),
    ["/assets/text-it-"],
  );
});

const WRONG = /status of 401/;
journey("a wrong password is told, and one can try again", { allow: WRONG }, async (page) => {
  await page.goto("/");
  await page.locator("#password").fill("wrong password");
  await page.locator("form button[type=submit]").click();
  await page.locator("[role=alert]").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "password");
  await page.locator("#password").fill(password);
  await page.locator("form button[type=submit]").click();
  await page.locator("#main h1").waitFor();
});

for (const colorScheme of ["light", "dark"]) {
  for (const [size, viewport] of [
    ["wide", WIDE],
    ["narrow", NARROW],
  ]) {
    journey(
      `every view, ${colorScheme} and ${size}: accessible, and no wider than the window`,
      { colorScheme, viewport },
      async (page) => {
        await page.goto("/");
        await page.locator("#password").waitFor();
        await accessible(page, "log-in");
        await fits(page, "log-in");
        await shoot(page, `login-${colorScheme}-${size}`);
        await steps.logIn(page, password);
        // Long enough for a visible line.
        if (shooting) await page.waitForTimeout(24_000);
        for (const view of views) {
          await steps.visit(page, view);
          if (shooting) await page.waitForTimeout(3000);
          await fits(page, view || "dashboard");
          await accessible(page, `${view || "dashboard"}, ${colorScheme}, ${size}`);
          await shoot(page, `${view || "dashboard"}-${colorScheme}-${size}`);
        }
        if (size === "narrow") {
          await page.locator(".menu").click();
          await page.locator("nav").waitFor();
          await accessible(page, `menu, ${colorScheme}`);
          await shoot(page, `menu-${colorScheme}-${size}`);
          await page.keyboard.press("Escape");
          assert.equal(await page.locator(".menu").getAttribute("aria-expanded"), "false");
        }
      },
    );
  }
}

journey("what rules cost that see each packet is told", { test: mockOnly }, async (page) => {
  await steps.logIn(page, password);
  await steps.visit(page, "");
  const told = await page.locator(".rules").innerText();
  assert.match(told, /17.*forward_guest, handle 214.*14/);
});

journey("hostile names are text", { test: mockOnly }, async (page) => {
  await steps.logIn(page, password);
  for (const view of ["", "devices", "conversations", "history", "picture"]) {
    await steps.visit(page, view);
    assert.equal(await page.locator("main img, main script").count(), 0, view);
    const text = await page.locator("main").innerText();
    assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/, view);
  }
  await steps.visit(page, "devices");
  await page.locator("#find").fill("onerror");
  await page.locator("tbody tr").first().waitFor();
  await page.locator("tbody th a").first().click();
  await page.waitForURL(/#\/devices\/./);
  await page.locator(".chart-room canvas").waitFor();
  assert.equal(await page.locator("h1").innerText(), HOSTILE.markup);
  assert.equal(await page.evaluate(() => window.owned), undefined);
});

journey(
  "a session that ends goes to the log-in and comes back to the view",
  { test: mockOnly, allow: WRONG },
  async (page) => {
    await steps.logIn(page, password);
    await steps.visit(page, "devices");
    await page.locator("#find").fill("nas");
    mock.state.sessions.clear();
    await page.locator("#password").waitFor();
    await page.locator("#password").fill(password);
    await page.locator("form button[type=submit]").click();
    await page.locator("tbody tr").first().waitFor();
    assert.equal(await page.locator("#find").inputValue(), "nas");
    assert.match(page.url(), /#\/devices\?find=nas$/);
  },
);

journey(
  "a router that fails is told of, asked less often, and forgiven",
  { test: mockOnly, allow: /status of 503/ },
  async (page) => {
    await steps.logIn(page, password);
    await steps.visit(page, "");
    mock.state.broken = true;
    await page.locator(".stale", { hasText: "being started" }).waitFor();
    mock.state.broken = false;
    await page.locator(".stale").waitFor({ state: "detached" });
  },
);

journey(
  "a page that finds no router asks again by itself",
  { allow: /ERR_FAILED/ },
  async (page) => {
    await page.route("**/api/session", (route) => route.abort(), { times: 1 });
    await page.goto("/");
    await page.locator("[role=alert]").waitFor();
    await page.locator("#password").waitFor();
  },
);

journey("an address that changes while the page is drawn is followed", {}, async (page) => {
  await page.goto("/");
  await page.locator("#password").fill(password);
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector("#main h1") === null) return;
      observer.disconnect();
      history.replaceState(null, "", "#/settings");
      dispatchEvent(new HashChangeEvent("hashchange"));
    }).observe(document.body, { childList: true, subtree: true });
  });
  await page.locator("form button[type=submit]").click();
  await page.locator("#old").waitFor();
});

journey("a page that nobody sees asks nothing", { test: mockOnly }, async (page) => {
  await steps.logIn(page, password);
  await steps.visit(page, "");
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  // A poll may have been under way.
  await page.waitForTimeout(1000);
  const asked = mock.state.requests.length;
  await page.waitForTimeout(5000);
  assert.equal(mock.state.requests.length, asked);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => false });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.waitForResponse((response) => response.url().endsWith("/api/v1/devices"));
});

test("a module more has its view, in the languages that it has", mockOnly, async () => {
  const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
  const dist = join(root, "build/sample");
  execFileSync(process.execPath, [
    join(root, "build.mjs"),
    join(root, "test/sample/main.ts"),
    dist,
  ]);
  const greeting = { whom: HOSTILE.markup, greeted: 5, devices: 2 };
  const more = { status: { sample: { greeted: 5 } }, answers: { greeting } };
  const sampled = await serve({ password, dist, more });
  try {
    for (const [locale, group, hello, often] of [
      ["en-GB", "Sample", "Hello, ", "5 times greeted"],
      ["de-DE", "Muster", "Hallo, ", "5 Mal willkommen geheißen"],
      // A language that the module lacks.
      ["ar", "Sample", "Hello, ", "5 times greeted"],
    ]) {
      const opened = await open(browser, sampled.url, { locale });
      const { page } = opened;
      await steps.logIn(page, password);
      // Its group is at its position.
      await page.locator('nav a[href="#/greeting"]').click();
      assert.equal(await page.locator(".nav-group > p").nth(3).innerText(), group);
      await page.locator(".greeting").waitFor();
      assert.equal(await page.locator(".greeting").innerText(), `${hello}${HOSTILE.markup}!`);
      await page.getByText(often).waitFor();
      const english = page.locator("main > div[lang=en][dir=ltr] .greeting");
      assert.equal(await english.count(), locale === "ar" ? 1 : 0);
      await accessible(page, `a module more, ${locale}`);
      await fits(page, "a module more");
      opened.clean();
      await opened.close();
    }
  } finally {
    await sampled.close();
  }
});

test("the first password is set in the page, and can be changed there", mockOnly, async () => {
  const fresh = await serve({ password: null });
  const opened = await open(browser, fresh.url);
  const { page } = opened;
  try {
    // From another host the code of the console is required.
    fresh.state.local = false;
    await page.goto("/");
    await page.locator("#code").waitFor();
    assert.equal(await page.evaluate("document.activeElement.id"), "code");
    await accessible(page, "first password, from elsewhere");
    await page.keyboard.type("AAAA-AAAA");
    await page.locator("#password").fill("long enough");
    await page.locator("#again").fill("long enough");
    await page.keyboard.press("Enter");
    await page.getByText("wrong code").waitFor();
    assert.equal(await page.evaluate("document.activeElement.id"), "code");
    assert.equal(await page.locator("#password").inputValue(), "long enough");
    await page.locator("#code").fill(fresh.state.claim);
    await page.keyboard.press("Enter");
    await page.locator("#main h1").waitFor();
    assert.equal(fresh.state.password, "long enough");
    fresh.state.password = null;
    fresh.state.sessions.clear();
    fresh.state.local = true;
    await page.reload();
    await page.locator("#again").waitFor();
    await accessible(page, "first password");
    await page.locator("#password").fill("short");
    await page.locator("#again").fill("short");
    await page.locator("form button[type=submit]").click();
    await page.getByText("Use at least 8 characters.").nth(1).waitFor();
    await page.locator("#password").fill("long enough");
    await page.locator("#again").fill("long enough");
    await page.locator("form button[type=submit]").click();
    await page.locator("#main h1").waitFor();
    assert.equal(fresh.state.password, "long enough");
    await steps.visit(page, "settings");
    for (const [field, text] of [
      ["#old", "not this one"],
      ["#new", "another one"],
      ["#again", "another one"],
    ]) {
      await page.locator(field).fill(text);
    }
    await page.locator("main form button[type=submit]").click();
    await page.getByText("the present password is another").waitFor();
    await page.locator("#old").fill("long enough");
    await page.locator("main form button[type=submit]").click();
    await page.getByText("The password was changed.").waitFor();
    assert.equal(fresh.state.password, "another one");
    // The page polls while its session is revoked.
    opened.clean(/status of 40[13]/);
  } finally {
    await opened.close();
    await fresh.close();
  }
});
