// A guest in front of the portal (tests/netns/portal/browser.rs): from any page to the form, and
// with a voucher's code to that page. WEIR_GUEST_PAGE: a page outside, by HTTP, with "outside" in
// it; WEIR_GUEST_CODE: a valid code; WEIR_GUEST_ACCOUNT: name and password of an account, with a
// colon between them; WEIR_WEB_SHOTS as in run.mjs.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { accessible, fits, launch, PATIENCE, shoot } from "./browser.mjs";

const outside = process.env.WEIR_GUEST_PAGE;
const code = process.env.WEIR_GUEST_CODE;
const [name, password] = process.env.WEIR_GUEST_ACCOUNT.split(":");
/** The smallest telephone, and a desktop. */
const SIZES = { narrow: { width: 320, height: 568 }, wide: { width: 1280, height: 800 } };

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

async function visit(options, walk) {
  const context = await browser.newContext({ locale: "en-GB", viewport: SIZES.narrow, ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    // A refusal has its status, which is not an error of the page.
    if (message.type() === "error" && !/status of 403/.test(message.text()))
      faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  try {
    await walk(page);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

/** Checks of every state of the page. */
async function looks(page, name) {
  await accessible(page, name);
  await fits(page, name);
  await shoot(page, `guest-${name}`);
}

for (const colorScheme of ["light", "dark"]) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    test(`the form and a refusal, ${colorScheme} and ${size}`, () =>
      visit({ colorScheme, viewport }, async (page) => {
        await page.goto(outside);
        await page.locator("#code").waitFor();
        assert.match(page.url(), /:2080\/$/);
        await looks(page, `form-${colorScheme}-${size}`);
        await page.locator("#code").fill("no code!");
        await page.getByRole("button", { name: "Connect" }).click();
        await page.getByRole("alert").waitFor();
        await looks(page, `refused-${colorScheme}-${size}`);
      }));
  }
}

test("German, where the browser asks for it", () =>
  visit({ locale: "de-AT" }, async (page) => {
    await page.goto(outside);
    await page.getByRole("button", { name: "Verbinden" }).waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), "de");
    await looks(page, "german");
  }));

test("by the keyboard, without a script: in, on, and out again", () =>
  visit({ javaScriptEnabled: false }, async (page) => {
    await page.goto(outside);
    await page.locator("#code").waitFor();
    await page.keyboard.press("Tab");
    // Typed like a code on paper.
    await page.keyboard.type(` ${code.toLowerCase().replace("-", " ")} `);
    await page.keyboard.press("Enter");
    await page.getByRole("status").waitFor();
    assert.match(await page.locator("main").innerText(), /Time left: (59 min|1 h)/);
    await fits(page, "inside");
    await shoot(page, "guest-inside");
    await page.goto(outside);
    assert.equal(await page.locator("body").innerText(), "outside");
    await page.goBack();
    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("button", { name: "Connect", exact: true }).waitFor();
    assert.equal(await page.getByRole("status").count(), 0);
    await page.goto(`${outside}again`);
    await page.locator("#code").waitFor();
  }));

test("with an account, by the keyboard; nobody reads the password on the screen", () =>
  visit({}, async (page) => {
    await page.goto(outside);
    await page.getByLabel("Name").fill(name);
    await page.keyboard.press("Tab");
    await page.keyboard.type("guess");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await looks(page, "account-refused");
    assert.equal(await page.getByLabel("Name").inputValue(), name);
    assert.equal(await page.getByLabel("Password").inputValue(), "");
    assert.equal(await page.getByLabel("Password").getAttribute("type"), "password");
    await page.getByLabel("Password").fill(password);
    await page.keyboard.press("Enter");
    await page.getByRole("status").waitFor();
    assert.equal(await page.getByLabel("Name").count(), 0);
    await looks(page, "account-inside");
    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByLabel("Name").waitFor();
  }));

test("who is in sees that, and axe has nothing to say", () =>
  visit({}, async (page) => {
    await page.goto(outside);
    await page.locator("#code").fill(code);
    await page.getByRole("button", { name: "Connect" }).click();
    await page.getByRole("status").waitFor();
    await looks(page, "inside-light");
  }));
