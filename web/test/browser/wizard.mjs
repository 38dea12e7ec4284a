// The whole wizard, by the keyboard alone: at two widths and in three languages, one of them
// right-to-left. Uses the mock server. WEIR_WEB_SHOTS=DIRECTORY saves a picture of each step;
// WEIR_WEB_LANGUAGES=en,de names the languages.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { after, before } from "node:test";
import { serve } from "../mock/server.mjs";
import { HOSTILE } from "../mock/world.mjs";
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
  const skip = process.env.WEIR_WEB_URL ? "needs the mock server" : false;
  test(name, { skip, timeout: 2 * PATIENCE }, async () => {
    const mock = await serve({ password });
    const opened = await open(browser, mock.url, options);
    try {
      await walk(opened.page, mock.state.setup, mock);
      opened.clean(options.allow);
    } finally {
      await opened.close();
      await mock.close();
    }
  });
}

const focused = (page) => page.evaluate(() => document.activeElement?.id);

const next = (page) => page.locator(".step-buttons [type=submit]");

/** Replaces the text of the focused field. */
async function write(page, text) {
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
}

/** Presses "next", and waits for the step that follows: its heading has the focus. */
async function on(page, step) {
  await tab(page, ".step-buttons [type=submit]");
  await page.keyboard.press("Enter");
  await page.locator(`.step-${step}`).waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "step-title");
}

async function byKeyboard(page, setup, { language, size }) {
  const look = async (what) => {
    await fits(page, what);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await accessible(page, `${what}, ${language}, ${colorScheme}, ${size}`);
      await shoot(page, `wizard-${what}-${language}-${colorScheme}-${size}`);
    }
    await page.emulateMedia({ colorScheme: "light" });
  };
  await page.goto("/");
  await page.waitForFunction(() => document.activeElement?.id === "password");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.locator("#main h1").waitFor();
  const html = page.locator("html");
  assert.equal(await html.getAttribute("lang"), language);
  assert.equal(await html.getAttribute("dir"), language === "ar" ? "rtl" : "ltr");
  if (size === "narrow") {
    await tab(page, ".menu");
    await page.keyboard.press("Enter");
  }
  await tab(page, 'nav a[href="#/setup"]');
  await page.keyboard.press("Enter");
  await page.locator(".step-language").waitFor();
  assert.equal(await page.locator("main [lang=en] .step").count(), 0, "it is translated");
  await look("1-language");

  await on(page, "router");
  await tab(page, "#setup-router-name");
  await write(page, "my router!");
  await page.locator("#setup-router-name-wrong").waitFor();
  // The step stays, and the field has the focus.
  await page.keyboard.press("Enter");
  await page.locator(".step-router .notice.warn").waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "setup-router-name");
  await look("2-router-wrong");
  await write(page, "haus");
  await page.locator("#setup-router-name-wrong").waitFor({ state: "detached" });
  await tab(page, "#setup-router-password");
  await write(page, "short");
  await page.locator("#setup-router-password-wrong").waitFor();
  await write(page, "correct horse battery staple");
  await page.locator(".strength .meter .good").waitFor();
  await look("3-router");

  await on(page, "internet");
  await tab(page, ".detect-controls .button");
  await page.keyboard.press("Enter");
  await page.locator(".evidence li").nth(2).waitFor();
  await tab(page, ".detect .notice .button");
  await look("4-internet-detected");
  await page.keyboard.press("Enter");
  await page.locator('input[value="pppoe"]:checked').waitFor();
  assert.equal(await page.locator("#setup-internet-vlan").inputValue(), "7");
  await tab(page, "#setup-internet-username");
  await page.keyboard.type("somebody@provider.example");
  await tab(page, "#setup-internet-password");
  await page.keyboard.type("a provider's password");
  await look("5-internet");

  await on(page, "wifi");
  await tab(page, ".step .buttons .button + .button");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id === "setup-wifi-networks-2-ssid");
  await page.keyboard.type("Gäste");
  await tab(page, "#setup-wifi-networks-2-key");
  await page.keyboard.type("welcome to us");
  const options = page.locator("#setup-wifi-networks-2-security option");
  assert.deepEqual(
    await options.evaluateAll((all) => all.map((one) => [one.value, one.disabled])),
    [
      ["mixed", true],
      ["wpa3", true],
      ["wpa2", false],
      ["owe", true],
      ["open", false],
    ],
  );
  await look("6-wifi");

  await on(page, "services");
  await look("7-services");
  await tab(page, "#group-lan > summary");
  await page.keyboard.press("Enter");
  // The detection suggested another network.
  assert.equal(await page.locator("#setup-lan-address").inputValue(), "192.168.7.1/24");
  await tab(page, "#group-mesh > summary");
  await page.keyboard.press("Enter");
  await tab(page, "#group-wireguard > summary");
  await page.keyboard.press("Enter");
  await tab(page, "#setup-wireguard-on");
  await page.keyboard.press("Space");
  await tab(page, "#group-wireguard .group-body > p .button");
  await page.keyboard.press("Enter");
  await tab(page, "#setup-wireguard-clients-0-public_key");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.type("Anna’s phone");
  await tab(page, "#group-openvpn > summary");
  await page.keyboard.press("Enter");
  await tab(page, "#setup-openvpn-on");
  await page.keyboard.press("Space");
  await tab(page, "#group-openvpn .group-body > p .button");
  await page.keyboard.press("Enter");
  await tab(page, "#setup-openvpn-clients-0-name");
  await page.keyboard.type("Anna’s phone");
  await tab(page, "#group-firewall > summary");
  await page.keyboard.press("Enter");
  await tab(page, "#group-place > summary");
  await page.keyboard.press("Enter");
  await tab(page, ".world");
  for (let press = 0; press < 50; press += 1) await page.keyboard.press("ArrowUp");
  for (let press = 0; press < 10; press += 1) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Shift+ArrowRight");
  assert.equal(await page.locator("#setup-router-place-0-").inputValue(), "50");
  assert.equal(await page.locator("#setup-router-place-1-").inputValue(), "10.1");
  await look("8-services-open");

  await on(page, "summary");
  await page.locator(".diff-added").first().waitFor();
  await page.locator(".notice.warn", { hasText: "192.168.7.1" }).waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /\u202e|correct horse|welcome to us/);
  await look("9-summary");
  await tab(page, ".apply .primary");
  await page.keyboard.press("Enter");

  await page.waitForFunction(() => document.activeElement?.id === "pending-title");
  assert.match(await page.locator(".pending a").getAttribute("href"), /^http:\/\/192\.168\.7\.1:/);
  await page.locator(".once .qr").waitFor();
  await look("a-pending");
  await tab(page, ".once li .button");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.keyboard.press("Enter"),
  ]);
  assert.equal(download.suggestedFilename(), "Anna-s-phone.conf");
  assert.match(readFileSync(await download.path(), "utf8"), /^\[Interface\]\n/);
  // The file of OpenVPN has no QR code, and a name that its apps open.
  assert.equal(await page.locator(".once .qr").count(), 1);
  await tab(page, ".once li:nth-child(2) .button");
  const [other] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  assert.equal(other.suggestedFilename(), "Anna-s-phone.ovpn");
  const [{ choices, within }] = setup.applied;
  assert.equal(within, 120);
  assert.equal(choices.router.password, "correct horse battery staple");
  assert.deepEqual(choices.router.place, ["50", "10.1"]);
  assert.deepEqual(choices.internet, {
    kind: "pppoe",
    vlan: 7,
    ipv6: true,
    username: "somebody@provider.example",
    password: "a provider's password",
    service: "Provider",
  });
  assert.deepEqual(choices.wifi.networks[2], {
    ssid: "Gäste",
    security: "wpa2",
    for: "guest",
    key: "welcome to us",
  });
  assert.deepEqual(choices.wireguard.clients, [{ name: "Anna’s phone" }]);
  assert.deepEqual(choices.openvpn.clients, [{ name: "Anna’s phone" }]);
  assert.equal(choices.mesh, undefined, "what nobody touched is not sent");

  await page.reload();
  await page.locator(".pending").waitFor();
  assert.equal(await page.locator(".once").count(), 0, "it was told once");
  await tab(page, ".pending .primary");
  await page.keyboard.press("Enter");
  await page.locator(".pending-room .notice.good").waitFor();
  // A busy machine answers a moment after the key.
  for (let tries = 0; setup.pending !== null && tries < 100; tries += 1) {
    await page.waitForTimeout(50);
  }
  assert.equal(setup.pending, null);
  await page.locator(".state").nth(2).waitFor();
  await look("b-confirmed");
}

for (const [size, viewport] of [
  ["wide", WIDE],
  ["narrow", NARROW],
]) {
  for (const language of LANGUAGES) {
    journey(
      `the whole wizard by the keyboard: ${language}, ${size}`,
      { locale: language, viewport },
      (page, setup) => byKeyboard(page, setup, { language, size }),
    );
  }
}

journey("the browser's back and forward go through the steps", {}, async (page) => {
  await logIn(page, password);
  await visit(page, "setup-internet");
  await page.goBack();
  await page.locator(".step-router").waitFor();
  await page.goBack();
  await page.locator(".step-language").waitFor();
  await page.goForward();
  await page.locator(".step-router").waitFor();
  // Visited steps can be opened; others cannot.
  await page.locator(".progress a", { hasText: "Internet" }).click();
  await page.locator(".step-internet").waitFor();
  assert.equal(await page.locator(".progress a").count(), 3);
  await page.goto("/#/setup?step=summary");
  await page.locator(".step-language").waitFor();
});

journey("a draft outlives a reload, but no secret does", {}, async (page, setup) => {
  await logIn(page, password);
  await visit(page, "setup-router");
  await page.locator("#setup-router-name").fill("attic");
  await page.locator("#setup-router-password").fill("correct horse battery staple");
  await visit(page, "setup-wifi");
  await page.locator("#setup-wifi-networks-0-key").fill("the family's key");
  const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
  assert.match(kept, /attic/);
  assert.doesNotMatch(kept, /correct horse|family/);
  await page.reload();
  await page.locator(".step-wifi").waitFor();
  await page.getByText("type these again").waitFor();
  assert.equal(await page.locator("#setup-wifi-networks-0-key").inputValue(), "");
  await accessible(page, "a draft that came back");
  await shoot(page, "wizard-draft");
  await visit(page, "setup-router");
  assert.equal(await page.locator("#setup-router-name").inputValue(), "attic");
  assert.equal(await page.locator("#setup-router-password").inputValue(), "");
  await page.locator("#setup-router-password").fill("correct horse battery staple");
  await page.getByText("type these again").waitFor();
  await visit(page, "setup-wifi");
  await page.locator("#setup-wifi-networks-0-key").fill("the family's key");
  await page.getByText("type these again").waitFor({ state: "detached" });
  // After a restart, the form has the router's state.
  await page.getByRole("button", { name: "Start over" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await visit(page, "setup-router");
  assert.equal(await page.locator("#setup-router-name").inputValue(), "OpenWrt");
  // The page waits for a pause in typing before it sends a request.
  while (setup.asked.at(-1).router.name !== "OpenWrt") await page.waitForTimeout(50);
});

journey("what nobody confirms goes back", {}, async (page, setup) => {
  await logIn(page, password);
  await visit(page, "setup-router");
  await page.locator("#setup-router-name").fill("attic");
  await visit(page, "setup-summary");
  await page.locator(".apply .primary").click();
  await page.locator(".pending").waitFor();
  setup.pending.until = Date.now() + 3000;
  await page.locator(".pending-room .notice.warn", { hasText: "Time is up" }).waitFor();
  assert.equal(setup.choices.router.name, "OpenWrt");
  await page.locator(".step").waitFor();
});

journey(
  "a change that waits is above every view, and can be taken back",
  {},
  async (page, setup) => {
    const why = HOSTILE.markup;
    setup.before = structuredClone(setup.choices);
    setup.pending = {
      change: { number: 3, why, who: "x", when: 0, left: 60, files: [], lines: [] },
      until: Date.now() + 60_000,
    };
    await logIn(page, password);
    await page.locator(".pending").waitFor();
    assert.match(page.url(), /\/(#\/)?$/);
    assert.equal(await page.locator("main img").count(), 0);
    await page.locator(".pending .notice.good").waitFor();
    setup.reach = { way: "no-gateway", whom: HOSTILE.override, says: "x" };
    await page.locator(".pending .notice.warn", { hasText: "does not answer" }).waitFor();
    setup.reach = { way: "no-names", whom: null, says: "x" };
    await page.locator(".pending .notice.warn", { hasText: "no DNS server" }).waitFor();
    assert.doesNotMatch(await page.locator("main, .pending").first().innerText(), /\u202e/);
    await accessible(page, "a change that waits, above the dashboard");
    await fits(page, "a change that waits");
    await page.locator(".pending .button:not(.primary)").click();
    await page.locator(".pending-room .notice", { hasText: "Change undone" }).waitFor();
    assert.equal(setup.pending, null);
  },
);

journey("what weir moves by itself is told, and nobody is asked", {}, async (page, setup) => {
  setup.before = structuredClone(setup.choices);
  const why = HOSTILE.markup;
  setup.pending = {
    change: { number: 3, why, who: "weir cables", when: 0, left: 60, files: [], lines: [] },
    until: Date.now() + 60_000,
  };
  await logIn(page, password);
  await page
    .locator(".pending-room .notice", { hasText: "weir moved a port automatically" })
    .waitFor();
  assert.equal(await page.locator(".pending-room button").count(), 0);
  assert.equal(await page.locator(".pending-room img").count(), 0);
  await accessible(page, "a port that weir moves, above the dashboard");
  // The change is confirmed, and the notice disappears.
  setup.pending = null;
  await page
    .locator(".pending-room .notice", { hasText: "automatically" })
    .waitFor({ state: "detached" });
});

journey(
  "of two administrators, the second is told of the first",
  { allow: /status of 409/ },
  async (page, setup) => {
    await logIn(page, password);
    await visit(page, "setup-router");
    await page.locator("#setup-router-name").fill("attic");
    await visit(page, "setup-summary");
    setup.before = structuredClone(setup.choices);
    setup.pending = {
      change: { number: 3, why: "y", who: "ben", when: 0, left: 60, files: [], lines: [] },
      until: Date.now() + 60_000,
    };
    await page.locator(".apply .primary").click();
    await page.locator("[role=alert]", { hasText: "ben made a change" }).waitFor();
  },
);

journey(
  "where the answer is lost with the old address, the new one is told",
  { allow: /ERR_FAILED/ },
  async (page) => {
    await logIn(page, password);
    await visit(page, "setup-services");
    await page.locator("#group-lan > summary").click();
    await page.locator("#setup-lan-address").fill("192.168.9.1/24");
    await visit(page, "setup-summary");
    await page.locator(".notice.warn", { hasText: "192.168.9.1" }).waitFor();
    await page.route("**/setup/apply", (route) => route.abort());
    await page.locator(".apply .primary").click();
    await page.locator('.apply a[href^="http://192.168.9.1:"]').waitFor();
  },
);

journey("a former state comes back, and is confirmed like any change", {}, async (page, setup) => {
  await logIn(page, password);
  await visit(page, "setup-language");
  await page.locator(".state .button").nth(1).click();
  await page.getByText("Undo this change and all later ones?").waitFor();
  await page.locator(".state").getByRole("button", { name: "Yes" }).click();
  await page.locator(".pending").waitFor();
  await page.locator(".pending .primary").click();
  await page.locator(".pending-room .notice.good").waitFor();
  assert.equal(setup.states[0].why, "back to before 1");
});

journey(
  "another node's code comes into the form, and this one's is shown to who asks",
  { allow: /status of 409/ },
  async (page, setup) => {
    setup.choices.mesh = { kind: "batman", name: "attics", channel: 36 };
    await logIn(page, password);
    await visit(page, "setup-services");
    await page.locator("#group-mesh > summary").click();
    assert.equal(await page.locator("#group-mesh .qr").count(), 0);
    await page.getByRole("button", { name: "Show the code" }).click();
    await page.locator("#group-mesh .qr").waitFor();
    const code = await page.locator("#group-mesh pre").textContent();
    await accessible(page, "the mesh's code");
    await page.locator(".join > summary").click();
    await page.locator("#join-document").fill("no code at all");
    await page.getByRole("button", { name: "Use this code" }).click();
    await page.locator(".join [role=alert]", { hasText: "cannot read the document" }).waitFor();
    await page.locator("#join-document").fill(code);
    await page.getByRole("button", { name: "Use this code" }).click();
    await page.waitForFunction(() => document.querySelector("#setup-mesh-name")?.value === "roofs");
    assert.equal(await page.locator("#join-document").inputValue(), "");
    await accessible(page, "a mesh that was joined by a code");
  },
);

journey(
  "without the setup process the view says what to do",
  { allow: /status of 503/ },
  async (page, setup) => {
    setup.runs = false;
    await logIn(page, password);
    await page.goto("/#/setup");
    await page.locator("[role=alert]", { hasText: "/etc/init.d/weir-setup start" }).waitFor();
    await accessible(page, "no setup process");
    setup.runs = true;
    await page.locator("[role=alert] .button").click();
    await page.locator(".step-language").waitFor();
  },
);

journey(
  "of a release that it does not know it shows the difference only",
  {},
  async (page, setup) => {
    setup.known = false;
    await logIn(page, password);
    await visit(page, "setup-router");
    await page.getByText("does not know this release").waitFor();
    await page.locator("#setup-router-name").fill("attic");
    await visit(page, "setup-summary");
    await page.locator(".diff-added").first().waitFor();
    assert.equal(await page.locator(".apply").count(), 0);
  },
);

journey(
  "hostile names are text, and words without a translation are the router's",
  { locale: "de" },
  async (page) => {
    await logIn(page, password);
    await visit(page, "setup-services");
    await page.locator("#group-firewall > summary").click();
    const group = page.locator("#group-firewall");
    await group.locator(".group-body > p .button").first().click();
    await page.locator("#setup-firewall-forwards-0-to").fill("10.9.9");
    // The mock reports this by a word of its own.
    const says = group.locator(".wrong [lang=en]");
    await says.filter({ hasText: "no device inside has this address" }).waitFor();
    await page.locator("#setup-firewall-forwards-0-port").fill("443");
    // The only blocked device goes; the focus is not lost with it.
    await group.locator(".item").last().locator("> p .button").click();
    await page.waitForFunction(() => document.activeElement?.matches(".group-body > p .button"));
    await page.locator(".progress a").nth(3).click();
    await page.locator(".step-wifi").waitFor();
    assert.equal(await page.locator("main img, main script").count(), 0);
    assert.doesNotMatch(await page.locator("main").innerText(), /\u202e/);
    // Without the first item, the second becomes the first: stored secrets do not move to another.
    await page.locator(".item .button").first().waitFor();
    await page.locator(".item > p .button").first().click();
    assert.equal(await page.locator(".item").count(), 1);
    assert.match(await page.locator("#setup-wifi-networks-0-ssid").inputValue(), /^guests/);
    await page.locator("#setup-wifi-networks-0-security").selectOption("wpa2");
    await page.locator("#setup-wifi-networks-0-key").waitFor();
    assert.equal(
      await page
        .locator("#setup-wifi-networks-0-key-hint")
        .innerText()
        .then((text) => /leer/.test(text)),
      false,
    );
    await next(page).click();
    await page.waitForFunction(() => document.activeElement?.matches("[aria-invalid=true]"));
    assert.equal(await focused(page), "setup-wifi-networks-0-key");
  },
);

journey("a router with radios, but no network, gets one to fill in", {}, async (page, setup) => {
  setup.choices.wifi.networks = [];
  await logIn(page, password);
  await visit(page, "setup-wifi");
  assert.equal(await page.locator(".item").count(), 1);
  await next(page).click();
  await page.waitForFunction(() => document.activeElement?.id === "setup-wifi-networks-0-ssid");
  await page.locator(".item > p .button").click();
  await next(page).click();
  await page.locator(".step-services").waitFor();
});

journey("an access point gets another key, and no uplink", {}, async (page, setup) => {
  delete setup.choices.internet;
  setup.choices.wifi.networks.pop();
  await logIn(page, password);
  await visit(page, "setup-internet");
  await page.locator('input[value="kept"]:checked').waitFor();
  await visit(page, "setup-wifi");
  await page.locator("#setup-wifi-networks-0-key").fill("the family's key");
  // Guests have no way out here. The problem has no field, so it is shown beneath the step.
  await page.locator(".step .buttons .button + .button").click();
  await page.locator("#setup-wifi-networks-1-ssid").fill("guests");
  await page.locator("#setup-wifi-networks-1-key").fill("welcome to us");
  await next(page).click();
  const why = page.locator("[aria-live] .notice.warn li");
  await why.filter({ hasText: "has no effect here" }).waitFor();
  assert.equal(await why.count(), 1);
  assert.equal(await page.locator(".step [aria-invalid=true]").count(), 0);
  await accessible(page, "a problem without a field");
  // A problem at a field is not repeated.
  await page.locator("#setup-wifi-networks-1-ssid").fill("");
  await page.locator("#setup-wifi-networks-1-ssid-wrong").waitFor();
  assert.equal(await why.count(), 1);
  await page.locator(".item").last().locator("> p .button").click();
  await why.waitFor({ state: "detached" });
  await visit(page, "setup-summary");
  await page.locator(".apply .primary").click();
  await page.locator(".pending").waitFor();
  const [{ choices }] = setup.applied;
  assert.equal(choices.internet, undefined);
  assert.equal(choices.wifi.networks[0].key, "the family's key");
});
