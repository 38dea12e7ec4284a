// Logs in at a server with a self-signed certificate (WEIR_WEB_URL, WEIR_WEB_PASSWORD). The browser
// trusts only the certificate's key (WEIR_WEB_CERTIFICATE, a PEM file). crates/web/tests/tls.rs
// runs this.
import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import { launch, open } from "./browser.mjs";
import * as steps from "./steps.mjs";

const url = process.env.WEIR_WEB_URL;
const password = process.env.WEIR_WEB_PASSWORD;
const certificate = new X509Certificate(readFileSync(process.env.WEIR_WEB_CERTIFICATE));
const key = createHash("sha256")
  .update(certificate.publicKey.export({ type: "spki", format: "der" }))
  .digest("base64");

async function visit(arguments_, walk) {
  const browser = await launch(arguments_);
  const opened = await open(browser, url, { ignoreHTTPSErrors: false });
  try {
    await walk(opened);
  } finally {
    await browser.close();
  }
}

test("a browser that does not know the certificate warns", () =>
  visit([], ({ page }) => assert.rejects(page.goto("/"), /ERR_CERT_AUTHORITY_INVALID/)));

test("one that does logs in, with a cookie for TLS alone, and out", () =>
  visit([`--ignore-certificate-errors-spki-list=${key}`], async ({ page, clean }) => {
    await steps.logIn(page, password);
    const cookies = async () =>
      (await page.context().cookies()).map(({ name, path, secure, httpOnly, sameSite }) => ({
        name,
        path,
        secure,
        httpOnly,
        sameSite,
      }));
    const closed = { path: "/", secure: true, httpOnly: true, sameSite: "Strict" };
    const device = { name: "__Host-weir-device", ...closed };
    assert.deepEqual(await cookies(), [{ name: "__Host-weir", ...closed }, device]);
    assert.equal(await page.evaluate(() => document.cookie), "", "no script sees it");
    const writes = page.evaluate(() => {
      document.createElement("p").innerHTML = "<b>";
    });
    await assert.rejects(writes, /TrustedHTML/, "text does not become markup");
    await page.locator(".side-foot button").click();
    await page.locator("#password").waitFor();
    assert.deepEqual(await cookies(), [device], "it goes on being known");
    // The test's daemon has few of the routes that the page requests.
    clean(/status of 404|TrustedHTML/);
  }));
