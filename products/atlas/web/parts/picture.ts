// A picture that the server drew, and the data in its attributes.

import { begin, type Range, type Unit } from "../core/time";

export interface Item {
  readonly element: SVGGraphicsElement;
  readonly text: string;
}

const UNITS: readonly string[] = ["hour", "day", "month"];

export class Picture {
  readonly name: string;
  /** Address without the time. */
  readonly lasting: string;
  /** True for a chart over time, which can be zoomed; else it shows one time. */
  readonly overTime: boolean;
  readonly range: Range | undefined;
  readonly by: Unit;
  /** Size in its own units. */
  readonly width: number;
  readonly height: number;
  readonly plot: { readonly left: number; readonly right: number; top: number; bottom: number };
  /** Bars, words or places, in the order in which they were drawn. */
  readonly items: readonly Item[];
  /** Horizontal positions of the points. */
  readonly #points: readonly number[];

  constructor(readonly svg: SVGSVGElement) {
    const number = (name: string) => {
      const text = svg.dataset[name];
      const value = text === undefined ? Number.NaN : Number(text);
      return Number.isFinite(value) ? value : undefined;
    };
    const [, , width = 960, height = 480] = (svg.getAttribute("viewBox") ?? "")
      .split(/[\s,]+/)
      .filter((part) => part !== "")
      .map(Number);
    [this.width, this.height] = [width || 960, height || 480];
    const own = svg.querySelector(":scope > title");
    this.name = own?.textContent ?? "";
    this.lasting = svg.dataset.name ?? this.name;
    this.overTime = svg.dataset.plot === "time";
    const [from, to] = [number("from"), number("to")];
    this.range = from !== undefined && to !== undefined && to > from ? { from, to } : undefined;
    this.by = UNITS.includes(svg.dataset.by ?? "") ? (svg.dataset.by as Unit) : "month";
    this.plot = {
      left: number("left") ?? 0,
      right: number("right") ?? this.width,
      top: number("top") ?? 0,
      bottom: number("bottom") ?? this.height,
    };
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    this.items = [...svg.querySelectorAll<SVGGraphicsElement>(".item")].map((element) => {
      // The browser would show it next to the component's own.
      const title = element.querySelector(":scope > title");
      const text = title?.textContent ?? element.dataset.name ?? "";
      title?.remove();
      return { element, text };
    });
    // Browsers show titles when one points at a picture, over what is read there: as a name it says
    // the same, and more.
    const gist = svg.querySelector(":scope > desc")?.textContent ?? "";
    svg.removeAttribute("aria-labelledby");
    svg.setAttribute("aria-label", `${this.name}. ${gist}`.trim());
    own?.remove();
    for (const title of svg.querySelectorAll(".series title")) title.remove();
    this.#points = (svg.dataset.points ?? "")
      .split(" ")
      .filter((place) => place !== "")
      .map(Number);
  }

  /** The time at a place across, in the picture's units. */
  hourAt(x: number): number {
    const { from, to } = this.range ?? { from: 0, to: 1 };
    const part = (x - this.plot.left) / (this.plot.right - this.plot.left);
    return from + Math.min(Math.max(part, 0), 1) * (to - from);
  }

  /** The place of a time. */
  placeOf(hour: number): number {
    const { from, to } = this.range ?? { from: 0, to: 1 };
    return this.plot.left + ((hour - from) / (to - from)) * (this.plot.right - this.plot.left);
  }

  /** Position of point `at` of `of`, which begins at an hour. */
  drawnAt(hour: number, at: number, of: number): number {
    const told = this.#points.length === of ? this.#points[at] : undefined;
    return told ?? this.placeOf((hour + begin(hour, this.by, 1)) / 2);
  }

  /** The colour of a series, as drawn; undefined if it is not shown. */
  colourOf(key: string): string | undefined {
    const series = this.#series(".series", key);
    if (series === undefined) return undefined;
    // Of a hatched area, the line around it has the colour.
    for (const drawn of series.querySelectorAll("path, rect, circle, line, polyline")) {
      const { stroke, fill } = getComputedStyle(drawn);
      const shown = [stroke, fill].find((colour) => /^rgb|^color/.test(colour));
      if (shown !== undefined) return shown;
    }
    return "currentColor";
  }

  /** Name of a series in the picture. */
  nameOf(key: string): string | undefined {
    return this.#series(".series", key)?.dataset.name;
  }

  /** True if a series is drawn or is in the legend. */
  has(key: string): boolean {
    return this.#series(":is(.series, .entry)", key) !== undefined;
  }

  #series(selector: string, key: string): SVGElement | undefined {
    return [...this.svg.querySelectorAll<SVGElement>(selector)].find(
      (one) => one.dataset.key === key,
    );
  }
}
