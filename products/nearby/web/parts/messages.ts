// Messages, the newest at the end.

import { plain } from "@/core/plain";
import { make } from "@/parts/make";
import type { Message } from "../core/types";
import { fate, formatWords, keys, readable, when } from "../core/words";
import type { Say } from "../text";

/** Distance from the end, in pixels, that counts as reading the end. */
const NEAR = 40;

interface Entry {
  readonly element: HTMLElement;
  readonly time: HTMLElement;
  readonly fate: HTMLElement | undefined;
}

export class Messages {
  readonly element: HTMLElement;
  readonly #list: HTMLElement;
  readonly #none: HTMLElement;
  #entries = new Map<string, Entry>();

  constructor(
    private readonly say: Say,
    private readonly language: string,
  ) {
    this.#list = make("ol", { class: "messages" });
    this.#none = make("p", { class: "muted" }, say("noMessages"));
    // The region scrolls, so it takes the focus; what is added to it is read out.
    this.element = make(
      "div",
      { class: "log", role: "log", tabindex: "0", "aria-label": say("messages") },
      this.#none,
      this.#list,
    );
  }

  /** Shows these messages, and keeps elements that exist already. */
  show(messages: readonly Message[], now: number) {
    const log = this.element;
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
    const names = keys(messages);
    const entries = new Map<string, Entry>();
    for (const [at, message] of messages.entries()) {
      const name = names[at] ?? "";
      const entry = this.#entries.get(name) ?? this.#make(message);
      entries.set(name, entry);
      set(entry.time, when(message.time, now, this.language, this.say));
      if (entry.fate) set(entry.fate, fate(message, this.say));
      const here = this.#list.children[at];
      if (here !== entry.element) this.#list.insertBefore(entry.element, here ?? null);
    }
    for (const [name, { element }] of this.#entries) if (!entries.has(name)) element.remove();
    this.#entries = entries;
    this.#none.hidden = messages.length > 0;
    if (atEnd) log.scrollTop = log.scrollHeight;
  }

  #make(message: Message): Entry {
    const { say } = this;
    const { own, sender, peer, format } = message;
    const time = make("time");
    const date = new Date(message.time);
    if (!Number.isNaN(date.getTime())) time.dateTime = date.toISOString();
    const head = make(
      "p",
      { class: "message-head" },
      own ? make("strong", {}, say("you")) : make("strong", { class: "code" }, plain(sender, 16)),
      time,
    );
    if (own && peer !== null)
      head.append(make("span", { class: "tag own" }, say("toOne", { peer: plain(peer, 16) })));
    if (format !== null)
      head.append(make("span", { class: "tag" }, say("by", { format: formatWords(format, say) })));
    const text = make("p", { class: "message-text", dir: "auto" }, readable(message.text));
    const element = make("li", { class: own ? "message own" : "message" }, head, text);
    const end = own ? make("p", { class: "message-fate" }) : undefined;
    if (end) element.append(end);
    return { element, time, fate: end };
  }
}

/** Sets a text only if it differs: a screen reader does not repeat itself. */
export function set(element: HTMLElement, text: string) {
  if (element.textContent !== text) element.textContent = text;
}
