// By the keyboard alone.
import assert from "node:assert/strict";

/** Presses Tab until an element has a visible focus; the element may appear later. */
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
