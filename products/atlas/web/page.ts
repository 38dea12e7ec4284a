// Script of the atlas's pages: keeps main chart, form and address in step.

import { make } from "@/parts/make";
import { Address } from "./core/address";
import { copy } from "./parts/save";
import { languageOf, says } from "./text";
import "./weir-chart";

const say = says(languageOf(document.documentElement.lang));
const chart = document.querySelector<HTMLElement>("weir-chart[data-main]");
const form = document.querySelector<HTMLFormElement>("form[data-chart-form]");
let asked = 0;

/** Replaces the parts of the page that depend on the state. */
async function renew(address: string) {
  asked += 1;
  const mine = asked;
  const response = await fetch(address, { headers: { accept: "text/html" } }).catch(
    () => undefined,
  );
  if (response?.ok !== true) return;
  const next = new DOMParser().parseFromString(await response.text(), "text/html");
  if (mine !== asked) return;
  document.title = next.title;
  for (const part of document.querySelectorAll<HTMLElement>("[data-part]")) {
    const name = CSS.escape(part.dataset.part ?? "");
    const other = next.querySelector<HTMLElement>(`[data-part="${name}"]`);
    // Open or focused parts stay as they are.
    if (other === null || part.contains(document.activeElement)) continue;
    for (const [at, details] of part.querySelectorAll("details").entries()) {
      const same = other.querySelectorAll("details")[at];
      if (same) same.open = details.open;
    }
    part.replaceWith(document.adoptNode(other));
  }
  snippets();
  const theirs = next.querySelector<HTMLFormElement>("form[data-chart-form]");
  if (theirs !== null && form !== null) fill(form, theirs);
}

function fill(form: HTMLFormElement, from: HTMLFormElement) {
  for (const field of form.elements) {
    const other = [...from.elements].find((one) => nameOf(one) === nameOf(field));
    if (field === document.activeElement || other === undefined) continue;
    if (field instanceof HTMLInputElement && other instanceof HTMLInputElement) {
      field.value = other.value;
      field.checked = other.checked;
    }
    if (field instanceof HTMLSelectElement && other instanceof HTMLSelectElement)
      field.value = other.value;
  }
}

const nameOf = (field: Element) => field.getAttribute("name") ?? "";

/** A button next to each snippet that copies it. */
function snippets() {
  for (const field of document.querySelectorAll<HTMLTextAreaElement>("textarea.snippet")) {
    if (field.nextElementSibling?.matches("button")) continue;
    field.addEventListener("focus", () => field.select());
    const name = document.querySelector(`label[for="${CSS.escape(field.id)}"]`)?.textContent ?? "";
    const button = make("button", { type: "button", class: "button" }, say("copy"));
    button.setAttribute("aria-label", `${say("copy")}: ${name}`);
    button.addEventListener("click", async () => {
      const done = await copy(field.value, document.body);
      button.textContent = say(done ? "copied" : "notCopied");
      setTimeout(() => {
        button.textContent = say("copy");
      }, 2500);
    });
    field.after(button);
  }
}

// On narrow windows links are in one row, which scrolls.
const current = document.querySelector<HTMLElement>(".side [aria-current=page]");
const side = current?.closest(".side");
if (side) side.scrollLeft = (current?.offsetLeft ?? 0) - side.clientWidth / 2;

/** Address of the current view. The browser's history has each, but not a slider's months. */
function go(address: string): void {
  const without = (text: string) => {
    const url = new URL(text, document.baseURI);
    url.searchParams.delete("at");
    return url.href;
  };
  const slid = without(address) === without(location.href);
  history[slid ? "replaceState" : "pushState"](null, "", address);
  void renew(address);
}

if (chart !== null) {
  const theme = document.documentElement.dataset.theme;
  if (theme !== undefined && !chart.hasAttribute("theme")) chart.setAttribute("theme", theme);
  chart.addEventListener("change", () => {
    go(chart.getAttribute("src") ?? "");
  });
  addEventListener("popstate", () => {
    chart.setAttribute("src", location.href);
    void renew(location.href);
  });
  form?.addEventListener("submit", (event) => {
    const now = Address.read(form.action, document.baseURI);
    if (now === undefined || event.submitter?.hasAttribute("formaction")) return;
    event.preventDefault();
    const changes = Object.fromEntries(
      [...new FormData(form)].map(([name, value]) => [name, String(value)]),
    );
    const address = now.with(changes).page();
    chart.setAttribute("src", address);
    go(address);
  });
}
snippets();
