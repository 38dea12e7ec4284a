// From thirteen years to an hour: a range is chosen by dragging, pinching, the wheel or keys.

import { make } from "@/parts/make";
import { type Range, scaled, snapped, told } from "../core/time";
import type { Language, Say } from "../text";
import type { Picture } from "./picture";

/** Pixels that a pointer moves before it chooses. */
const SLIGHT = 6;
/** Pause of the wheel before a request, ms. */
const REST = 140;

interface Asked {
  /** Returns the range of all data. */
  whole(): Promise<Range>;
  /** Shows a range; undefined: all data. */
  go(range: Range | undefined): void;
  /** Shows the previous view; false without a previous view. */
  back(): boolean;
  /** Hints that the wheel alone does not zoom. */
  hint(): void;
}

export class Zoom {
  readonly #chosen = make("div", { class: "chosen", hidden: true });
  readonly #label = make("span");
  #picture: Picture | undefined;
  /** Start of a drag, in pixels of the stage. */
  #from: number | undefined;
  readonly #fingers = new Map<number, number>();
  #pinch: { readonly apart: number; readonly at: number } | undefined;
  /** Zoom by wheel or fingers that the atlas has not drawn yet. */
  #factor = 1;
  #hour = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hinted = false;

  constructor(
    private readonly stage: HTMLElement,
    private readonly language: Language,
    private readonly say: Say,
    private readonly asked: Asked,
  ) {
    this.#chosen.append(this.#label);
    stage.append(this.#chosen);
    stage.addEventListener("pointerdown", (event) => this.#down(event));
    stage.addEventListener("pointermove", (event) => this.#move(event));
    stage.addEventListener("pointerup", (event) => this.#up(event));
    stage.addEventListener("pointercancel", () => this.#stop());
    stage.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    stage.addEventListener("dblclick", (event) => {
      if (this.#zoomable && !onLink(event) && !asked.back()) asked.go(undefined);
    });
    stage.addEventListener("keydown", (event) => this.#key(event));
  }

  show(picture: Picture) {
    this.#picture = picture;
    this.#stop();
    this.#factor = 1;
    clearTimeout(this.#timer);
  }

  /** Zooms by a factor, in the middle. */
  async by(factor: number) {
    const range = this.#picture?.range;
    if (range !== undefined) await this.#scale(factor, (range.from + range.to) / 2);
  }

  get #zoomable(): boolean {
    return this.#picture?.overTime === true && this.#picture.range !== undefined;
  }

  #place(event: MouseEvent): number {
    return event.clientX - this.stage.getBoundingClientRect().left;
  }

  #hourAt(place: number): number {
    return this.#picture?.hourAt((place / this.stage.clientWidth) * this.#picture.width) ?? 0;
  }

  #inPlot(event: MouseEvent): boolean {
    const picture = this.#picture;
    if (picture === undefined || !this.#zoomable || onLink(event)) return false;
    const { left, top } = this.stage.getBoundingClientRect();
    const scale = picture.width / this.stage.clientWidth;
    const [x, y] = [(event.clientX - left) * scale, (event.clientY - top) * scale];
    const { plot } = picture;
    return x >= plot.left - 8 && x <= plot.right + 8 && y >= plot.top && y <= plot.bottom + 24;
  }

  #down(event: PointerEvent) {
    if (!this.#inPlot(event) || event.button !== 0) return;
    if (event.pointerType === "mouse") {
      this.#from = this.#place(event);
      return;
    }
    this.#fingers.set(event.pointerId, this.#place(event));
    const [one, two] = this.#fingers.values();
    if (one === undefined || two === undefined) return;
    this.#pinch = { apart: Math.max(Math.abs(one - two), 20), at: this.#hourAt((one + two) / 2) };
    this.stage.setPointerCapture(event.pointerId);
  }

  #move(event: PointerEvent) {
    if (this.#fingers.has(event.pointerId)) this.#fingers.set(event.pointerId, this.#place(event));
    if (this.#pinch !== undefined) {
      const [one = 0, two = 0] = this.#fingers.values();
      this.#preview(this.#pinch.apart / Math.max(Math.abs(one - two), 20), this.#pinch.at);
      return;
    }
    if (this.#from === undefined || this.#picture === undefined) return;
    const to = this.#place(event);
    if (this.#chosen.hidden && Math.abs(to - this.#from) < SLIGHT) return;
    if (this.#chosen.hidden) {
      this.stage.setPointerCapture(event.pointerId);
      this.stage.dataset.busy = "";
    }
    const range = snapped(this.#between(this.#from, to));
    const picture = this.#picture;
    const part = (value: number, of: number) => `${(value / of) * 100}%`;
    const [left, right] = [range.from, range.to].map((hour) =>
      Math.min(Math.max(picture.placeOf(hour), picture.plot.left), picture.plot.right),
    ) as [number, number];
    Object.assign(this.#chosen.style, {
      left: part(left, picture.width),
      width: part(right - left, picture.width),
      top: part(picture.plot.top, picture.height),
      height: part(picture.plot.bottom - picture.plot.top, picture.height),
    });
    this.#label.textContent = this.words(range);
    this.#chosen.hidden = false;
  }

  #up(event: PointerEvent) {
    const [from, to] = [this.#from, this.#place(event)];
    const chosen = !this.#chosen.hidden;
    const pinched = this.#pinch !== undefined;
    this.#stop();
    if (pinched) void this.#ask();
    else if (chosen && from !== undefined) this.asked.go(this.#between(from, to));
  }

  #stop() {
    this.#from = undefined;
    this.#pinch = undefined;
    this.#fingers.clear();
    this.#chosen.hidden = true;
    delete this.stage.dataset.busy;
    if (this.#picture !== undefined) this.#picture.svg.style.transform = "";
  }

  #between(one: number, other: number): Range {
    const [from, to] = [this.#hourAt(Math.min(one, other)), this.#hourAt(Math.max(one, other))];
    return { from, to: Math.max(to, from) };
  }

  #wheel(event: WheelEvent) {
    // Pinching on a touch pad arrives as a wheel with ctrl; without it, the page scrolls.
    if (!this.#inPlot(event)) return;
    if (!event.ctrlKey) {
      // Only once: a user who scrolls past a chart needs no hint.
      if (!this.#hinted) this.asked.hint();
      this.#hinted = true;
      return;
    }
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    const step = Math.exp(Math.min(Math.max(event.deltaY * lines, -60), 60) / 150);
    this.#preview(this.#factor * step, this.#hourAt(this.#place(event)));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), REST);
  }

  /** Stretches the current picture until the atlas has drawn another. */
  #preview(factor: number, hour: number) {
    this.#factor = Math.min(Math.max(factor, 1 / 4000), 4000);
    this.#hour = hour;
    const picture = this.#picture;
    if (picture === undefined) return;
    this.stage.dataset.busy = "";
    const shown = Math.min(Math.max(1 / this.#factor, 0.25), 8);
    picture.svg.style.transformOrigin = `${(picture.placeOf(hour) / picture.width) * 100}% 50%`;
    picture.svg.style.transform = `scaleX(${shown})`;
  }

  async #ask() {
    const factor = this.#factor;
    this.#factor = 1;
    await this.#scale(factor, this.#hour);
    this.#stop();
  }

  async #scale(factor: number, hour: number) {
    const range = this.#picture?.range;
    if (range === undefined || !this.#zoomable) return;
    const whole = await this.asked.whole();
    const next = scaled(range, factor, hour, whole);
    if (factor > 1 && next === undefined) this.asked.go(undefined);
    else if (next !== undefined) this.asked.go(next);
  }

  async #pan(part: number) {
    const range = this.#picture?.range;
    if (range === undefined || !this.#zoomable) return;
    const whole = await this.asked.whole();
    const length = range.to - range.from;
    if (length >= whole.to - whole.from) return;
    const most = whole.to - length;
    const from = Math.min(Math.max(range.from + part * length, whole.from), most);
    this.asked.go({ from, to: from + length });
  }

  #key(event: KeyboardEvent) {
    if (event.altKey || event.ctrlKey || event.metaKey || !this.#zoomable) return;
    if (event.key === "+" || event.key === "=") void this.by(0.5);
    else if (event.key === "-") void this.by(2);
    else if (event.key === "Escape" && this.#from !== undefined) this.#stop();
    else if (event.key === "Escape") {
      if (!this.asked.back()) return;
    } else if (event.shiftKey && event.key === "ArrowLeft") void this.#pan(-0.5);
    else if (event.shiftKey && event.key === "ArrowRight") void this.#pan(0.5);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Formats a range for readers. */
  words(range: Range): string {
    const { from, to, unit } = snapped(range);
    const [first, last] = [from, to - 1].map((hour) => told(hour, unit, this.language));
    return first === last
      ? String(first)
      : this.say("shows", { from: String(first), to: String(last) });
  }
}

const onLink = (event: Event) =>
  event.composedPath().some((one) => one instanceof Element && one.localName === "a");
