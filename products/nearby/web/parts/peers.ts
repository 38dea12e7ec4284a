// List of peers.

import { plain } from "@/core/plain";
import { make } from "@/parts/make";
import type { Peer } from "../core/types";
import { ago, bars, formatWords, linkWords, signalWords, waitWords } from "../core/words";
import type { Key, Say } from "../text";
import { set } from "./messages";

const ROWS = ["signal", "speaks", "connection", "waiting", "seen"] as const satisfies Key[];

interface Entry {
  readonly element: HTMLElement;
  readonly bars: HTMLElement;
  readonly values: Record<(typeof ROWS)[number], HTMLElement>;
}

export class Peers {
  readonly element: HTMLElement;
  readonly #list: HTMLElement;
  readonly #none: HTMLElement;
  #entries = new Map<string, Entry>();

  constructor(
    private readonly say: Say,
    private readonly language: string,
  ) {
    this.#list = make("ul", { class: "peers" });
    this.#none = make("p", { class: "muted" }, say("nobody"));
    this.element = make("div", {}, this.#none, this.#list);
  }

  show(peers: readonly Peer[], now: number) {
    const { say } = this;
    const entries = new Map<string, Entry>();
    for (const [at, peer] of peers.entries()) {
      const entry = this.#entries.get(peer.id) ?? this.#make(peer);
      entries.set(peer.id, entry);
      entry.bars.dataset.bars = String(bars(peer.signal));
      set(entry.values.signal, signalWords(peer.signal, say));
      set(entry.values.speaks, peer.formats.map((it) => formatWords(it, say)).join(", "));
      set(entry.values.connection, linkWords(peer, say));
      set(entry.values.waiting, waitWords(peer.waiting, say));
      set(entry.values.seen, ago(peer.last_seen, now, this.language));
      const here = this.#list.children[at];
      if (here !== entry.element) this.#list.insertBefore(entry.element, here ?? null);
    }
    for (const [id, { element }] of this.#entries) if (!entries.has(id)) element.remove();
    this.#entries = entries;
    this.#none.hidden = peers.length > 0;
  }

  #make(peer: Peer): Entry {
    const lines = [0, 1, 2, 3].map(() => make("span"));
    // The words next to the bars have the same information.
    const drawn = make("span", { class: "bars", "aria-hidden": "true" }, ...lines);
    const cell = () => make("dd");
    const values = {
      signal: cell(),
      speaks: cell(),
      connection: cell(),
      waiting: cell(),
      seen: cell(),
    };
    const facts = ROWS.map((row) => make("div", {}, make("dt", {}, this.say(row)), values[row]));
    const head = make("h3", {}, drawn, make("span", { class: "code" }, plain(peer.id, 16)));
    const element = make("li", { class: "peer" }, head, make("dl", { class: "facts" }, ...facts));
    return { element, bars: drawn, values };
  }
}
