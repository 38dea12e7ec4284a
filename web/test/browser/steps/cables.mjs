// The cables: a port and its fixed role.
import { visit } from "./views.mjs";

/** A port gets a fixed role, returns to detection, and gets a fixed role again. */
export async function port(page) {
  await visit(page, "cables");
  // The page shows as many separate ports as the router reports.
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
