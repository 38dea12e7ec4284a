// The views of the page, and the ways to open each.

/** Every view, by the address it has; `device` and `conversation` are found by following a link. */
export const VIEWS = [
  "",
  "devices",
  "device",
  "conversations",
  "conversation",
  "history",
  "picture",
  "paths",
  "guests",
  "vouchers",
  "voucher",
  "days",
  "welcome",
  "cables",
  "radio",
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
    case "conversation":
      await visit(page, "conversations");
      // A conversation that weir can explain.
      await page.locator("tbody tr th a").first().click();
      await page.waitForURL(/#\/conversations\/./);
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
      // A step opens only after those before it.
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
        conversations: "tbody tr",
        history: ".stacks svg .stack",
        picture: ".picture svg .ribbon, .nothing",
        paths: ".path-card",
        guests: "tbody tr, main .nothing",
        vouchers: "tbody tr, .nothing",
        days: ".day-bars svg",
        welcome: "iframe.preview",
        cables: ".socket",
        radio: ".radio-power",
        settings: "#old",
        "setup?step=language": ".step-language",
      }[view];
      await page.locator(sign).first().waitFor();
    }
  }
}
