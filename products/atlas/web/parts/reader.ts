// Values under the pointer, or by arrow keys: a cross hair, a box, and words for screen readers.

import { make } from "@/parts/make";
import { type Line, nearest, type Point, points } from "../core/table";
import { told } from "../core/time";
import type { Language, Say } from "../text";
import type { Picture } from "./picture";

/** Lines that a box has room for. */
const MOST_LINES = 12;

export class Reader {
  /** Focus element for keys: over the plot, and transparent for pointers. */
  readonly handle = make("div", { class: "handle", role: "slider", tabindex: "0" });
  readonly #cross = make("div", { class: "cross", hidden: true });
  readonly #box = make("div", { class: "box", hidden: true, "aria-hidden": "true" });
  #picture: Picture | undefined;
  /** Points of a picture over time; requested on the first pointing. */
  #points: Promise<readonly Point[]> | undefined;
  #known: readonly Point[] = [];
  #at = -1;

  constructor(
    private readonly stage: HTMLElement,
    private readonly say: Say,
    private readonly language: Language,
    private readonly load: () => Promise<unknown>,
  ) {
    stage.append(this.#cross, this.#box, this.handle);
    this.handle.addEventListener("keydown", (event) => this.#key(event));
    this.handle.addEventListener(
      "focus",
      () => void this.#go(() => (this.#at < 0 ? this.#last : this.#at)),
    );
    this.handle.addEventListener("blur", () => this.hide());
    stage.addEventListener("pointermove", (event) => this.point(event));
    stage.addEventListener("pointerdown", (event) => this.point(event));
    stage.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.hide();
    });
  }

  /** Switches to another picture. */
  show(picture: Picture) {
    this.hide();
    this.#picture = picture;
    this.#points = undefined;
    this.#known = [];
    this.#at = -1;
    const { plot, width, height } = picture;
    const part = (value: number, of: number) => `${(value / of) * 100}%`;
    Object.assign(this.handle.style, {
      left: part(plot.left, width),
      top: part(plot.top, height),
      width: part(plot.right - plot.left, width),
      height: part(plot.bottom - plot.top, height),
    });
    this.handle.hidden = !picture.overTime && picture.items.length === 0;
    this.handle.setAttribute("aria-label", `${picture.name}: ${this.say("points")}`);
    this.#describe(0, "–");
  }

  hide() {
    this.#cross.hidden = true;
    this.#box.hidden = true;
    for (const { element } of this.#picture?.items ?? []) element.classList.remove("read");
  }

  /** Reads what is under the pointer. */
  point(event: PointerEvent) {
    const picture = this.#picture;
    if (picture === undefined) return;
    // During the choice of a range, its own words are shown.
    if (this.stage.dataset.busy !== undefined) return this.hide();
    if (!picture.overTime) {
      const element = (event.target as Element).closest?.(".item");
      const place = picture.items.findIndex((item) => item.element === element);
      if (place < 0) this.hide();
      else void this.#go(() => place);
      return;
    }
    const { left, top } = this.stage.getBoundingClientRect();
    const scale = picture.width / this.stage.clientWidth;
    const [x, y] = [(event.clientX - left) * scale, (event.clientY - top) * scale];
    const { plot } = picture;
    if (x < plot.left - 4 || x > plot.right + 4 || y < plot.top || y > plot.bottom) {
      this.hide();
      return;
    }
    void this.#go(() => nearest(this.#places(picture), x));
  }

  /** Positions of the known points. */
  #places(picture: Picture): number[] {
    return this.#known.map(({ hour }, at) => picture.drawnAt(hour, at, this.#known.length));
  }

  get #last(): number {
    return (this.#picture?.overTime ? this.#known.length : 1) - 1;
  }

  #key(event: KeyboardEvent) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    // A key pressed before points are known takes effect later.
    const last = () =>
      (this.#picture?.overTime ? this.#known : (this.#picture?.items ?? [])).length - 1;
    const steps: Record<string, () => number> = {
      ArrowLeft: () => this.#at - 1,
      ArrowUp: () => this.#at - 1,
      ArrowRight: () => this.#at + 1,
      ArrowDown: () => this.#at + 1,
      PageUp: () => this.#at - 12,
      PageDown: () => this.#at + 12,
      Home: () => 0,
      End: last,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    void this.#go(() => Math.max(Math.min(step(), last()), 0));
  }

  /** Goes to a point, once points are known. */
  async #go(choose: () => number) {
    const picture = this.#picture;
    if (picture?.overTime) {
      this.#points ??= this.load().then(points);
      try {
        this.#known = await this.#points;
      } catch {
        // Requested again at the next movement; the picture stays.
        this.#points = undefined;
        return;
      }
    }
    if (picture !== this.#picture || picture === undefined) return;
    this.#at = choose();
    if (picture.overTime) this.#readPoint(picture);
    else this.#readItem(picture);
  }

  #readPoint(picture: Picture) {
    const point = this.#known[this.#at];
    if (point === undefined) return this.hide();
    const time = told(point.hour, picture.by, this.language);
    const lines = this.#lines(point, picture);
    const x = (this.#places(picture)[this.#at] ?? 0) / picture.width;
    Object.assign(this.#cross.style, {
      left: `${x * 100}%`,
      top: this.handle.style.top,
      height: this.handle.style.height,
    });
    this.#cross.hidden = false;
    const rows = lines.map(({ name, values, colour }) => {
      const key = make("span", { class: "key" });
      if (colour === undefined) key.classList.add("none");
      else key.style.backgroundColor = colour;
      const cells = values.map((value) => make("td", {}, this.#number(value)));
      return make("tr", {}, make("th", {}, key, name), ...cells);
    });
    const heads = ["", ...point.heads].map((head) => make("th", {}, head));
    const head = point.heads.length > 0 ? [make("thead", {}, make("tr", {}, ...heads))] : [];
    this.#box.replaceChildren(
      make("p", {}, time),
      make("table", {}, ...head, make("tbody", {}, ...rows)),
    );
    this.#place(x, picture.plot.top / picture.height);
    const worded = ({ name, values }: Line) =>
      [name, ...values.map((value, at) => [this.#number(value), point.heads[at] ?? ""].join(" "))]
        .map((word) => word.trim())
        .join(" ");
    const said = lines.map(worded).join(", ");
    this.#describe(this.#known.length - 1, `${time}: ${said}`);
  }

  /** Lines of a point: drawn series with their colours, then other values of the row. */
  #lines(point: Point, picture: Picture): (Line & { colour: string | undefined })[] {
    const all = point.lines.map((line) => ({
      ...line,
      name: picture.nameOf(line.key) ?? line.name,
      colour: picture.colourOf(line.key),
    }));
    const drawn = all.filter(({ colour }) => colour !== undefined);
    // Of what the legend has, only what is drawn; where each line is of something, nothing else.
    const other = point.heads.length > 0 ? [] : all.filter(({ key }) => !picture.has(key));
    const shown = drawn.length === 0 ? all : [...drawn, ...other];
    if (shown.length <= MOST_LINES) return shown;
    const size = ({ values }: Line) => Math.max(...values.map((value) => value ?? 0));
    return shown.sort((one, two) => size(two) - size(one)).slice(0, MOST_LINES);
  }

  #readItem(picture: Picture) {
    const item = picture.items[this.#at];
    this.hide();
    if (item === undefined) return;
    item.element.classList.add("read");
    const room = this.stage.getBoundingClientRect();
    const box = item.element.getBoundingClientRect();
    this.#box.replaceChildren(make("p", {}, item.text));
    this.#place(
      (box.left + box.width / 2 - room.left) / room.width,
      (box.bottom + 6 - room.top) / room.height,
    );
    this.#describe(picture.items.length - 1, item.text);
  }

  /** Puts the box next to a place, on the side that has room. */
  #place(x: number, y: number) {
    this.#box.hidden = false;
    const room = this.stage.clientWidth;
    const wide = this.#box.offsetWidth;
    const at = x * room;
    const left = at + 12 + wide <= room ? at + 12 : at - 12 - wide;
    const most = this.stage.clientHeight - this.#box.offsetHeight;
    const top = Math.min(y * this.stage.clientHeight, Math.max(most, 0));
    Object.assign(this.#box.style, {
      left: `${Math.max(0, Math.min(left, room - wide))}px`,
      top: `${top}px`,
    });
  }

  #describe(most: number, text: string) {
    const set = (name: string, value: string | number) =>
      this.handle.setAttribute(`aria-value${name}`, String(value));
    set("min", 0);
    set("max", Math.max(most, 0));
    set("now", Math.max(this.#at, 0));
    set("text", text);
  }

  #number(value: number | null): string {
    if (value === null) return this.say("nothing");
    return value.toLocaleString(this.language === "en" ? "en-GB" : this.language, {
      maximumFractionDigits: 1,
    });
  }
}
