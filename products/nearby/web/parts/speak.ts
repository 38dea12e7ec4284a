// The box to write a message, to all or to one peer.

import { plain } from "@/core/plain";
import { make } from "@/parts/make";
import type { Peer } from "../core/types";
import { saidWords } from "../core/words";
import type { Say } from "../text";
import { Refused, speak } from "./source";

export class Speak {
  readonly element: HTMLFormElement;
  readonly #to: HTMLSelectElement;
  readonly #text: HTMLTextAreaElement;
  readonly #told: HTMLElement;
  #under = false;

  /** `said`: a message was sent. */
  constructor(
    private readonly say: Say,
    private readonly said: () => void,
  ) {
    this.#to = make("select", { id: "to" }, make("option", { value: "all" }, say("all")));
    this.#text = make("textarea", {
      id: "text",
      rows: "2",
      required: true,
      dir: "auto",
      "aria-describedby": "hint",
    });
    this.#told = make("p", { class: "told", role: "status" });
    this.element = make(
      "form",
      { class: "speak", "aria-label": say("sayTitle") },
      make("div", { class: "field" }, make("label", { for: "to" }, say("to")), this.#to),
      make("div", { class: "field what" }, make("label", { for: "text" }, say("text")), this.#text),
      make("button", { class: "button primary" }, say("send")),
      make("p", { class: "hint", id: "hint" }, say("hint")),
      this.#told,
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    this.#text.addEventListener("keydown", (event) => {
      // Enter also ends composition, as in Chinese.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.element.requestSubmit();
    });
  }

  /** Offers these peers. A selected peer stays selected, even if it is gone. */
  show(peers: readonly Peer[]) {
    const chosen = this.#to.value;
    const ids = peers.map((peer) => peer.id);
    const wanted = ["all", ...ids, ...(chosen !== "all" && !ids.includes(chosen) ? [chosen] : [])];
    const name = (id: string) => {
      if (id === "all") return this.say("all");
      return this.say(ids.includes(id) ? "onlyTo" : "gone", { peer: plain(id, 16) });
    };
    const same =
      wanted.length === this.#to.options.length &&
      wanted.every((id, at) => {
        const option = this.#to.options[at];
        return option?.value === id && option.text === name(id);
      });
    // Replacing the options would close an open list.
    if (same) return;
    this.#to.replaceChildren(...wanted.map((id) => make("option", { value: id }, name(id))));
    this.#to.value = chosen;
  }

  async #send() {
    const text = this.#text.value;
    if (this.#under || text.trim() === "") return;
    this.#under = true;
    try {
      const answer = await speak(this.#to.value, text);
      // Text typed meanwhile stays.
      if (this.#text.value === text) this.#text.value = "";
      this.#tell(saidWords(answer, this.say), false);
      this.said();
    } catch (error) {
      const why = error instanceof Refused ? error.message : this.say("unreachable");
      this.#tell(this.say("notSaid", { why: plain(why, 400) }), true);
    } finally {
      this.#under = false;
    }
  }

  #tell(text: string, bad: boolean) {
    this.#told.className = bad ? "told notice bad" : "told muted";
    this.#told.textContent = text;
  }
}
