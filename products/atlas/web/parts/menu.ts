// Menu of exports: files, the address, code for other pages.

import { iconButton, make } from "@/parts/make";
import { type Address, snippets } from "../core/address";
import type { Say } from "../text";
import { copy, saveFile, savePng } from "./save";
import { why } from "./source";

export interface Shown {
  readonly address: Address;
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly theme: "light" | "dark";
  readonly language: string;
}

export class Menu {
  readonly button: HTMLButtonElement;
  readonly panel: HTMLElement;

  constructor(
    private readonly say: Say,
    private readonly shown: () => Shown | undefined,
    private readonly tell: (text: string) => void,
  ) {
    this.button = iconButton("more", say("more"), () => this.#toggle(this.panel.hidden === true));
    this.button.setAttribute("aria-expanded", "false");
    this.panel = make("div", {
      class: "menu",
      hidden: true,
      role: "group",
      "aria-label": say("more"),
    });
    const entry = (label: string, press: (shown: Shown) => Promise<void>) => {
      const button = make("button", { type: "button" }, label);
      button.addEventListener("click", () => {
        const known = this.shown();
        if (known === undefined) return;
        press(known).catch((error) => this.tell(say("notSaved", { why: why(error) })));
      });
      this.panel.append(button);
    };
    for (const kind of ["svg", "png", "csv", "json"] as const)
      entry(say("save", { kind: kind.toUpperCase() }), (shown) => this.#save(kind, shown));
    this.panel.append(make("hr"));
    entry(say("address"), ({ address }) => this.#copy(address.page()));
    for (const kind of ["component", "iframe", "img"] as const)
      entry(say(kind), ({ address, title }) => this.#copy(snippets(address, title)[kind]));
    for (const element of [this.button, this.panel])
      element.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || this.panel.hidden) return;
        event.stopPropagation();
        this.#toggle(false);
        this.button.focus();
      });
  }

  /** Closes when the focus or the pointer goes elsewhere. */
  leave(event: Event) {
    const path = event.composedPath();
    if (!path.includes(this.panel) && !path.includes(this.button)) this.#toggle(false);
  }

  #toggle(open: boolean) {
    this.panel.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
  }

  async #save(kind: "svg" | "png" | "csv" | "json", shown: Shown) {
    const { address, width, height, theme, language } = shown;
    const name = `${address.stem()}.${kind}`;
    const look = { width: String(width), height: String(height) };
    const spoken = address.query.has("lang") ? {} : { lang: language };
    if (kind === "png") {
      const url = address.with({ theme }).file("svg", { ...look, ...spoken });
      await savePng(url, width, height, name);
    } else {
      await saveFile(address.file(kind, kind === "svg" ? { ...look, ...spoken } : spoken), name);
    }
    this.tell(this.say("saved", { name }));
  }

  async #copy(text: string) {
    this.tell(this.say((await copy(text, this.panel)) ? "copied" : "notCopied"));
  }
}
