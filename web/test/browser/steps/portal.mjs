// Guests: vouchers, and the guests' page.
import assert from "node:assert/strict";
import { visit } from "./views.mjs";

/**
 * A voucher is sold in two taps, and its code can be scanned; it gets a name, and is revoked after
 * a confirmation.
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
  // The field reports an invalid number.
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
  await page.getByText("Name saved.").waitFor();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "No" }).click();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "Yes, revoke" }).click();
  await page.locator(".tag", { hasText: "revoked" }).waitFor();
  await visit(page, "vouchers");
  await page.locator("#which").selectOption("revoked");
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
  // The window's looks do not matter.
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
  await page.getByText("Saved. Guests see this now.").waitFor();
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

/** Removes the edits: the configuration applies again. */
export async function unwelcome(page) {
  await visit(page, "welcome");
  await page.getByRole("button", { name: "Remove the picture" }).click();
  await page.getByText("The page has no picture.").waitFor();
  await page.getByRole("button", { name: "Use the configuration’s text" }).click();
  await page.getByText("This text comes from the configuration.").waitFor();
}
