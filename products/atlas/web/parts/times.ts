// For charts of one time: a slider over the months, which also plays.

import { changeIcon, iconButton, make } from "@/parts/make";
import { hourOf, months, type Range, told } from "../core/time";
import type { Language, Say } from "../text";

/** Time per month, ms; longer for readers who prefer reduced motion. */
const SHOWN = 650;
const SHOWN_CALMLY = 1600;
/** Pause of the slider before a request, ms. */
const REST = 90;

interface Asked {
  /** Shows a month. */
  go(month: string): Promise<void>;
  /** Announces that a month will be shown soon. */
  soon(month: string): void;
}

export class Times {
  readonly row: HTMLElement;
  readonly #slider = make("input", { type: "range", min: "0", step: "1" });
  readonly #told = make("output", { class: "time", "aria-hidden": "true" });
  readonly #play: HTMLButtonElement;
  #months: readonly string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #playing = false;

  constructor(
    private readonly say: Say,
    private readonly language: Language,
    private readonly asked: Asked,
  ) {
    this.#play = iconButton("play", say("play"), () => this.#toggle());
    this.#slider.setAttribute("aria-label", say("time"));
    this.row = make("div", { class: "times", hidden: true }, this.#play, this.#slider, this.#told);
    this.#slider.addEventListener("input", () => {
      this.stop();
      this.#tell();
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.asked.go(this.#month), REST);
    });
  }

  /** Offers these months; the one of `at` is shown. */
  show(whole: Range, at: number | undefined) {
    this.#months = months(whole);
    this.#slider.max = String(this.#months.length - 1);
    const before = this.#months.filter((month) => (hourOf(month) ?? 0) <= (at ?? whole.to));
    const place = before.length - 1;
    // The user may have moved the slider while the picture loaded.
    const moving = this.#playing || this.row.matches(":has(input:active)");
    if (!moving) this.#slider.value = String(Math.max(place, 0));
    this.row.hidden = this.#months.length < 2;
    this.#tell();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#playing = false;
    changeIcon(this.#play, "play", this.say("play"));
  }

  get #month(): string {
    return this.#months[Number(this.#slider.value)] ?? "";
  }

  #tell() {
    const hour = hourOf(this.#month);
    const text = hour === undefined ? "" : told(hour, "month", this.language);
    this.#told.textContent = text;
    this.#slider.setAttribute("aria-valuetext", text);
  }

  #toggle() {
    if (this.#playing) return this.stop();
    this.#playing = true;
    changeIcon(this.#play, "pause", this.say("pause"));
    if (Number(this.#slider.value) >= this.#months.length - 1) this.#slider.value = "0";
    else this.#slider.stepUp();
    void this.#frame();
  }

  /** Shows a month, and after a while the next: not before the picture is there. */
  async #frame() {
    this.#tell();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const rest = new Promise((done) => setTimeout(done, calm ? SHOWN_CALMLY : SHOWN));
    const next = this.#months[Number(this.#slider.value) + 1];
    const there = this.asked.go(this.#month);
    if (next !== undefined) this.asked.soon(next);
    await Promise.all([there, rest]);
    if (!this.#playing || !this.row.isConnected) return;
    if (next === undefined) return this.stop();
    this.#slider.stepUp();
    void this.#frame();
  }
}
