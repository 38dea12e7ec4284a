// What a person does with the page, step by step. Used against the mock server and against a real
// router: they rely on nothing but that somebody uses the network.
import assert from "node:assert/strict";

/** Every view, by the address it has; `device` and `talk` are found by following a link. */
export const VIEWS = [
  "",
  "devices",
  "device",
  "talks",
  "talk",
  "history",
  "picture",
  "paths",
  "guests",
  "vouchers",
  "voucher",
  "days",
  "welcome",
  "cables",
  ...["language", "router", "internet", "wifi", "services", "summary"].map(
    (step) => `setup-${step}`,
  ),
  "settings",
];

export async function logIn(page, password) {
  await page.goto("/");
  await page.locator("#password").fill(password);
  await page.locator("form button[type=submit]").click();
  await page.locator("#main h1").waitFor();
}

/** Goes to a view as a reader would, and waits until it shows something. */
export async function visit(page, view) {
  switch (view) {
    case "device":
      await visit(page, "devices");
      await page.locator("tbody tr th a").first().click();
      await page.waitForURL(/#\/devices\/./);
      await page.locator(".chart-room canvas").waitFor();
      await page.locator(".card:not(:has(.waiting))").first().waitFor();
      await page.waitForFunction(() => document.querySelector("main .waiting") === null);
      return;
    case "talk":
      await visit(page, "talks");
      // Of those that weir can explain.
      await page.locator("tbody tr th a").first().click();
      await page.waitForURL(/#\/talks\/./);
      await page.locator(".path li").first().waitFor();
      await page.waitForFunction(() => document.querySelector("main .waiting") === null);
      return;
    case "setup-language":
      await visit(page, "setup?step=language");
      return;
    case "setup-router":
    case "setup-internet":
    case "setup-wifi":
    case "setup-services":
    case "setup-summary":
      // A step can be come to only by those before it.
      await visit(page, "setup?step=language");
      for (let step = "language"; `setup-${step}` !== view; ) {
        await page.locator(".step-buttons [type=submit]").click();
        await page.locator(`.step:not(.step-${step})`).waitFor();
        const shown = await page.locator(".step").getAttribute("class");
        step = /step-(\w+)/.exec(shown)[1];
      }
      await page.waitForFunction(() => document.querySelector(".step [role=status]") === null);
      return;
    case "voucher":
      await visit(page, "vouchers");
      await page.locator("tbody tr th a").first().click();
      await page.waitForURL(/#\/vouchers\/./);
      await page.locator(".qr").waitFor();
      return;
    default: {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `#/${view}`);
      const sign = {
        "": ".chart-room canvas",
        devices: "tbody tr",
        talks: "tbody tr",
        history: ".stacks svg .stack",
        picture: ".picture svg .ribbon, .nothing",
        paths: ".path-card",
        guests: "tbody tr, main .nothing",
        vouchers: "tbody tr, .nothing",
        days: ".day-bars svg",
        welcome: "iframe.preview",
        cables: ".socket",
        settings: "#old",
        "setup?step=language": ".step-language",
      }[view];
      await page.locator(sign).first().waitFor();
    }
  }
}

/** The rates of now are shown, and move. */
export async function dashboard(page) {
  await visit(page, "");
  const value = page.locator(".now-value").first();
  const first = await value.innerText();
  assert.match(first, /bit\/s$/);
  await page.locator(".bars li").first().waitFor();
  await page.waitForFunction(
    (before) => document.querySelector(".now-value")?.textContent !== before,
    await value.evaluate((element) => element.textContent),
  );
}

/** The table of devices can be ordered and searched; a device's own page opens. */
export async function device(page) {
  await visit(page, "devices");
  const total = page.locator("thead th", { hasText: /^Total/ });
  await total.locator("button").click();
  assert.equal(await total.getAttribute("aria-sort"), "descending");
  await total.locator("button").click();
  assert.equal(await total.getAttribute("aria-sort"), "ascending");
  const rows = await page.locator("tbody tr").count();
  await page.locator("#find").fill("no such device anywhere");
  await page.locator("main .nothing").waitFor();
  await page.locator("#find").fill("");
  await page.locator("tbody tr").first().waitFor();
  assert.equal(await page.locator("tbody tr").count(), rows);
  await visit(page, "device");
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
}

/** A conversation shows its path from the device to the far end. */
export async function talk(page) {
  await visit(page, "talk");
  assert.equal(await page.locator(".path li").count(), 3);
  await page.goBack();
  await page.locator("tbody tr").first().waitFor();
}

/** Bars of days, and of hours; a period chosen by the keyboard shows its own figures. */
export async function history(page) {
  await visit(page, "history");
  for (const [unit, bars] of [
    ["hour", 48],
    ["month", 12],
    ["day", 31],
  ]) {
    await page.locator(`input[name=unit][value=${unit}]`).check();
    await page.waitForFunction((many) => document.querySelectorAll(".stack").length === many, bars);
  }
  const heading = page.locator(".history-parts :is(h2, h3)");
  const whole = await heading.innerText();
  await page.locator(".stacks").focus();
  await page.keyboard.press("End");
  await page.locator(".stack.chosen").waitFor();
  assert.notEqual(await heading.innerText(), whole);
  await page.keyboard.press("Escape");
  assert.equal(await heading.innerText(), whole);
  await page.locator("input[name=by][value=application]").check();
  await page.locator(".history-parts tbody tr, .nothing").first().waitFor();
}

/**
 * What each path carries is shown, the other way too; arrow keys read it. Without a partner there
 * is no such view in the navigation.
 */
export async function paths(page) {
  await page.locator('nav a[href="#/paths"]').click();
  await page.locator(".path-card").first().waitFor();
  await page.locator(".notice.good").waitFor();
  const sum = page.locator("main .large").first();
  await page.waitForFunction(() =>
    /[1-9].*\s[kMG]?bit\/s/.test(document.querySelector("main .large")?.textContent ?? ""),
  );
  assert.match(
    await page.locator(".chart-room").getAttribute("aria-label"),
    /^What each path carries, Download, now: /,
  );
  const cards = await page.locator(".path-card").count();
  assert.equal(await page.locator(".legend li").count(), cards);
  const down = await sum.innerText();
  await page.locator("input[name=way][value=up]").check();
  await page.waitForURL(/#\/paths\?way=up$/);
  assert.notEqual(await sum.innerText(), down);
  await page.locator(".chart-room").focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() =>
    /^\d\d:\d\d:\d\d: .*bit\/s/.test(
      document.querySelector(".chart [aria-live]")?.textContent ?? "",
    ),
  );
  await page.locator("input[name=way][value=down]").check();
}

/** Shares of the paths, in hundredths. */
export const shares = (page) =>
  page
    .locator(".path-share")
    .evaluateAll((all) => all.map((one) => Number.parseInt(one.textContent ?? "", 10)));

/**
 * A voucher is sold in two taps, and its code can be scanned; it gets a name, and is called back,
 * which is asked for twice.
 */
export async function sale(page) {
  await page.locator('nav a[href="#/guests"]').click();
  await page.locator("input[name=time][value='3600']").check();
  await page.locator(".sale button[type=submit]").click();
  const link = page.locator(".voucher-code a");
  await link.waitFor();
  const code = await link.innerText();
  assert.match(code, /^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/);
  await page.getByRole("img", { name: `QR code of ${code}` }).waitFor();
  // What is no number is told, beside the field.
  await page.locator(".sale summary").click();
  await page.locator("#sale-devices").fill("none");
  await page.locator(".sale button[type=submit]").click();
  await page.locator("#sale-devices-wrong").waitFor();
  await page.locator("#sale-devices").fill("2");
  await page.locator("#sale-name").fill("<b>room 9</b>");
  await page.locator(".sale button[type=submit]").click();
  await page.waitForFunction(
    (before) => document.querySelector(".voucher-code")?.textContent !== before,
    code,
  );
  await link.waitFor();
  await link.click();
  await page.locator("#voucher-name").waitFor();
  assert.equal(await page.locator("#voucher-name").inputValue(), "<b>room 9</b>");
  await page.locator("#voucher-name").fill("room 10");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The name is saved.").waitFor();
  await page.getByRole("button", { name: "Call back" }).click();
  await page.getByRole("button", { name: "No" }).click();
  await page.getByRole("button", { name: "Call back" }).click();
  await page.getByRole("button", { name: "Yes, call back" }).click();
  await page.locator(".tag", { hasText: "called back" }).waitFor();
  await visit(page, "vouchers");
  await page.locator("#which").selectOption("invalidated");
  await page.locator("#find").fill("room 10");
  await page.locator("tbody tr").first().waitFor();
  await page.locator("#which").selectOption("");
  await page.locator("#find").fill("");
}

/** Several vouchers are sold at once, and printed: the sheet opens in a window of its own. */
export async function sheet(page) {
  await visit(page, "guests");
  await page.locator(".sale summary").click();
  await page.locator("#sale-count").fill("10");
  await page.locator(".sale button[type=submit]").click();
  const codes = page.locator(".codes a");
  await codes.nth(9).waitFor();
  assert.equal(await codes.count(), 10);
  const [opened] = await Promise.all([
    page.context().waitForEvent("page"),
    page.getByRole("link", { name: /^Print 10 / }).click(),
  ]);
  await opened.locator(".code").nth(9).waitFor();
  assert.deepEqual(await opened.locator(".code").allInnerTexts(), await codes.allInnerTexts());
  // It may look as it likes.
  const display = await opened
    .locator("main")
    .evaluate((element) => getComputedStyle(element).display);
  assert.equal(display, "grid");
  return opened;
}

/** The text is edited with a preview; a picture is taken and removed. */
export async function welcome(page) {
  await visit(page, "welcome");
  const seen = page.frameLocator("iframe.preview");
  await page.locator("#welcome-title").fill("Our <b>place</b>");
  await page.locator("#welcome-text").fill("# Terms\n\n<script>alert(1)</script>");
  await seen.locator("h1", { hasText: "Our <b>place</b>" }).waitFor();
  await seen.getByText("alert(1)").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Guests see this now.").waitFor();
  await page.locator("#welcome-picture").setInputFiles({
    name: "logo.png",
    mimeType: "image/png",
    buffer: Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==",
      "base64",
    ),
  });
  await page.locator(".welcome-picture img").waitFor();
  await page.waitForFunction(
    () => document.querySelector(".welcome-picture img")?.naturalWidth === 1,
  );
  const file = (name, buffer) => ({ name, mimeType: "image/png", buffer });
  await page.locator("#welcome-picture").setInputFiles(file("b.png", Buffer.alloc(102_401)));
  await page.locator("#welcome-picture-wrong").waitFor();
  await page.locator("#welcome-picture").setInputFiles(file("c.png", Buffer.from("<svg/>")));
  await page.locator("main [role=alert]", { hasText: "PNG" }).waitFor();
}

/** What was edited goes: the configuration holds again. */
export async function unwelcome(page) {
  await visit(page, "welcome");
  await page.getByRole("button", { name: "Remove the picture" }).click();
  await page.getByText("The page has no picture.").waitFor();
  await page.getByRole("button", { name: "Use the configuration’s text" }).click();
  await page.getByText("This is the configuration’s text.").waitFor();
}

/** German and back, by the switch; the page says so to a screen reader too. */
export async function language(page) {
  await visit(page, "devices");
  await page.locator("#language").selectOption("de");
  await page.locator("h1", { hasText: "Geräte" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  await page.reload();
  await page.locator("h1", { hasText: "Geräte" }).waitFor();
  await page.locator("#language").selectOption("en");
  await page.locator("h1", { hasText: "Devices" }).waitFor();
}

/** Dark and light, by the switch. */
export async function theme(page) {
  await visit(page, "");
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.locator("#theme").selectOption("light");
  const light = await ground();
  await page.locator("#theme").selectOption("dark");
  assert.notEqual(await ground(), light);
  await page.locator("#theme").selectOption("auto");
}

/** Presses Tab until something has the focus, and shows that it has; it may yet have to come. */
export async function tab(page, selector, most = 120) {
  await page.locator(selector).first().waitFor({ state: "attached" });
  for (let step = 0; step < most; step += 1) {
    await page.keyboard.press("Tab");
    if (
      await page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)
    ) {
      const ring = await page.evaluate(() => {
        const element = document.activeElement;
        const rings = (style) =>
          style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) > 0;
        const card = element.closest(".choice-card");
        return rings(getComputedStyle(element)) || (card && rings(getComputedStyle(card)));
      });
      assert.ok(ring, `${selector} shows that it has the focus`);
      return;
    }
  }
  assert.fail(`${selector} cannot be reached by Tab`);
}

/** From the log-in to a device and back out, with the keyboard only. */
export async function keyboard(page, password) {
  await page.goto("/");
  await page.waitForFunction(() => document.activeElement?.id === "password");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.locator("#main h1").waitFor();
  const tabTo = (selector) => tab(page, selector);
  await page.evaluate(() => document.body.focus());
  await tabTo(".skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  await page.reload();
  await page.locator("#main h1").waitFor();
  await tabTo('nav a[href="#/devices"]');
  await page.keyboard.press("Enter");
  await page.locator("tbody tr").first().waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
  await tabTo("th .sort");
  await page.keyboard.press("Space");
  await page.locator("th[aria-sort=ascending]").waitFor();
  await tabTo("tbody tr th a");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/devices\/./);
  await page.locator(".chart-room canvas").waitFor();
  await tabTo(".chart-room");
  await page.waitForFunction(() => document.querySelector(".now-value") !== null);
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() =>
    /bit\/s/.test(document.querySelector(".chart [aria-live]")?.textContent ?? ""),
  );
}

/** A port is kept as somebody says, is found out again, and is kept once more. */
export async function port(page) {
  await visit(page, "cables");
  // As many are shown as kept apart as the router says.
  const apart = await page.evaluate(async () => {
    const { cables } = await (await fetch("/api/v1/cables")).json();
    return cables.filter(({ shut }) => shut).length;
  });
  await page.waitForFunction(
    (many) => document.querySelectorAll(".socket .socket-bar").length === many,
    apart,
  );
  await page.locator(".happened li").first().waitFor();
  const socket = page.locator(".socket:has(.socket-plug) input").first();
  const first = await socket.inputValue();
  await socket.check();
  await page.locator(".card.port h2", { hasText: first }).waitFor();
  const keep = async () => {
    await page.locator("#port-role").selectOption("radio");
    await page.locator(".port-keep [type=submit]").click();
    await page.locator(".card.port.role-radio .tag.own").waitFor();
  };
  await keep();
  await page.locator(".port-auto").click();
  await page.locator(".card.port .tag.own").waitFor({ state: "detached" });
  await keep();
  return { apart, first };
}
