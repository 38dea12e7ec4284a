// <weir-chart src="https://host/chart/growth?from=2019-01" theme lang>: a chart of an atlas in any
// page. The server draws the picture; this element points, zooms, filters, plays and saves.

import { iconButton, make } from "@/parts/make";
import css from "./component.css";
import { Address } from "./core/address";
import { whole as wholeOf } from "./core/table";
import { hourOf, parameters, type Range } from "./core/time";
import { clean, parse } from "./parts/clean";
import { Menu, type Shown } from "./parts/menu";
import { moved } from "./parts/move";
import { Picture } from "./parts/picture";
import { Reader } from "./parts/reader";
import { ask, askJson, why } from "./parts/source";
import { Times } from "./parts/times";
import { Zoom } from "./parts/zoom";
import { languageOf, type Say, says } from "./text";

const dark = matchMedia("(prefers-color-scheme: dark)");
const sheet = new CSSStyleSheet();
sheet.replaceSync(css);

/** Requested widths of pictures, so that many readers request the same. */
const WIDTHS = [320, 400, 480, 640, 800, 960, 1200, 1440];
/** Largest scaling of a picture before another is requested. */
const STRETCHED = 1.3;
/** Pause after a resize before other pictures are requested, ms. */
const REST = 150;
/** Pixels below which a picture is higher than half of its width. */
const NARROW = 560;
/** Pixels below which the tools have no room next to a title. */
const OVERFLOW = 420;
/** Space in a frame for the slider, and below the tools, pixels. */
const SLIDER = 52;
const GAP = 4;
/** Smallest drawing of the atlas, pixels. */
const LEAST = 160;
/** Time for which a notice is shown, ms. */
const TOLD = 6000;
/** Number of views in the history of "back". */
const MOST_BACK = 50;

export class WeirChart extends HTMLElement {
  static observedAttributes = ["src", "theme", "lang"];

  #parts: Parts | undefined;
  #address: Address | undefined;
  #picture: Picture | undefined;
  #before: Address[] = [];
  /** Number of requests: only the latest answer is shown. */
  #asked = 0;
  #observer: ResizeObserver | undefined;
  #resized: ReturnType<typeof setTimeout> | undefined;

  connectedCallback() {
    if (this.#parts === undefined) this.#build();
    this.#observer = new ResizeObserver(() => {
      clearTimeout(this.#resized);
      this.#resized = setTimeout(() => this.#fit(), REST);
    });
    this.#observer.observe(this);
    document.addEventListener("pointerdown", this.#elsewhere);
    dark.addEventListener("change", this.#repaint);
  }

  disconnectedCallback() {
    this.#observer?.disconnect();
    document.removeEventListener("pointerdown", this.#elsewhere);
    dark.removeEventListener("change", this.#repaint);
    this.#parts?.times.stop();
  }

  attributeChangedCallback(name: string, old: string | null, value: string | null) {
    if (this.#parts === undefined || old === value) return;
    const next = Address.read(this.getAttribute("src") ?? "", document.baseURI);
    if (name === "src" && next !== undefined && next.same(this.#address)) return;
    this.#address = next;
    void this.#load();
  }

  readonly #repaint = () => void this.#load();
  readonly #elsewhere = (event: Event) => this.#parts?.menu.leave(event);

  #build() {
    // Before the shadow hides it.
    const own = [...this.querySelectorAll<SVGSVGElement>("svg.weir-chart")].find(
      (svg) => svg.getClientRects().length > 0,
    );
    const high = own?.getBoundingClientRect().height ?? 0;
    const language = languageOf(this.lang || this.closest("[lang]")?.getAttribute("lang"));
    const say = says(language);
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.#parts = new Parts(say, language, {
      shown: () => this.#shown(language),
      json: () => this.#json(say, language),
      whole: () => this.#whole(say),
      range: (range) => this.#zoomTo(range),
      back: () => this.#back(),
      hint: () => this.#parts?.tell(say("ctrl")),
      month: (month, soon) => this.#month(month, soon),
    });
    root.append(this.#parts.frame, make("slot", { hidden: true }));
    this.#narrow();
    this.#parts.stage.addEventListener("click", (event) => this.#click(event));
    this.#address = Address.read(this.getAttribute("src") ?? "", document.baseURI);
    const base = this.#address?.root ?? document.baseURI;
    // The page's style sheet, which makes it dark, does not reach into the shadow.
    const fits =
      this.#address !== undefined &&
      (own?.dataset.theme === this.#theme || this.#theme === "light");
    const cleaned = own !== undefined && fits ? clean(own, `${base}/`) : undefined;
    if (cleaned !== undefined) {
      this.#show(new Picture(cleaned));
      if (high > this.#room) void this.#load();
    } else {
      this.#slot(own !== undefined);
      void this.#load();
    }
  }

  /** Light or dark: by attribute, or by the reader's system. */
  get #theme(): "light" | "dark" {
    const told = this.#address?.query.get("theme") ?? this.getAttribute("theme");
    if (told === "light" || told === "dark") return told;
    return dark.matches ? "dark" : "light";
  }

  get #language() {
    return this.#parts?.language ?? "en";
  }

  /** Address of the picture, as wide as the available room. */
  #url(address: Address, width = this.#width): string {
    const usual = width < NARROW ? 420 : Math.min(Math.round(width / 2), 520);
    const room = Math.floor((this.#room * width) / (this.clientWidth || width));
    const height = Math.max(Math.min(usual, room), LEAST);
    const more: Record<string, string> = { width: String(width), height: String(height) };
    // A page of the atlas has them next to its chart.
    if (this.hasAttribute("data-main")) more.notes = "0";
    if (this.hasAttribute("data-frame")) more.fit = "1";
    if (!address.query.has("lang")) more.lang = this.#language;
    // A picture that decides by itself has a style sheet, which a strict policy forbids.
    return address.with({ theme: this.#theme }).file("svg", more);
  }

  /** Available height of the picture, pixels: all that its frame leaves. */
  get #room(): number {
    if (!this.hasAttribute("data-frame")) return Number.POSITIVE_INFINITY;
    const beside = [...(this.parentElement?.children ?? [])].filter((one) => one !== this);
    const parts = this.#parts;
    const own = this.#picture?.overTime === false ? SLIDER : 0;
    const tools = parts?.frame.classList.contains("narrow") ? parts.tools.offsetHeight + GAP : 0;
    const high = (one: Element) => (one as HTMLElement).offsetHeight;
    return beside.reduce((room, one) => room - high(one), innerHeight - own - tools);
  }

  get #width(): number {
    const room = this.clientWidth || 960;
    return WIDTHS.reduce((best, width) =>
      Math.abs(width - room) < Math.abs(best - room) ? width : best,
    );
  }

  async #load() {
    const [parts, address] = [this.#parts, this.#address];
    if (parts === undefined) return;
    this.#asked += 1;
    const asked = this.#asked;
    // A static site answers no requests: the page has all of the data.
    parts.frame.hidden = address === undefined;
    if (address === undefined) return this.#slot(true);
    parts.frame.setAttribute("aria-busy", "true");
    try {
      const url = this.#url(address);
      const cleaned = parse(await ask(url, parts.say), url);
      if (cleaned === undefined) throw new Error(parts.say("noPicture"));
      if (asked === this.#asked) this.#show(new Picture(cleaned));
    } catch (error) {
      if (asked === this.#asked) this.#fail(parts.say("failed", { why: why(error) }));
    } finally {
      if (asked === this.#asked) parts.frame.removeAttribute("aria-busy");
    }
  }

  #show(picture: Picture) {
    const parts = this.#parts;
    if (parts === undefined) return;
    const focused = this.shadowRoot?.activeElement?.closest<SVGElement>(".legend [data-key]");
    const old = this.#picture;
    parts.frame.dataset.theme = this.#theme;
    this.#picture = picture;
    parts.show(picture, old, this.#before.length > 0);
    this.#slot(false);
    // The keyboard focus stays on the filter.
    const key = focused?.dataset.key;
    if (key !== undefined) linkOf(picture.svg, key)?.focus();
    if (!picture.overTime) {
      void this.#whole(parts.say).then((whole) => {
        // Without a time the latest is shown; a ranking of all times says so in its range.
        const at = hourOf(this.#address?.query.get("at")) ?? (picture.range?.to ?? whole.to) - 1;
        if (picture === this.#picture) parts.times.show(whole, at);
      });
    } else parts.times.row.hidden = true;
    this.dispatchEvent(new Event("drawn"));
  }

  /** Shows an error; the previous picture stays, or else the page's replacement. */
  #fail(text: string) {
    this.#parts?.tell(text, "wrong");
    if (this.#picture === undefined) this.#slot(true);
    this.dispatchEvent(new Event("error"));
  }

  #slot(instead: boolean) {
    const slot = this.shadowRoot?.querySelector("slot");
    if (slot) slot.hidden = !instead;
    if (this.#parts) this.#parts.stage.hidden = instead;
  }

  /** Shows another state, and notifies the page. */
  async #go(address: Address, remember = true) {
    if (address.same(this.#address)) return;
    if (remember && this.#address !== undefined)
      this.#before = [...this.#before, this.#address].slice(-MOST_BACK);
    this.#address = address;
    this.setAttribute("src", address.page());
    const detail = { src: address.page() };
    this.dispatchEvent(new CustomEvent("change", { detail, bubbles: true }));
    await this.#load();
  }

  #zoomTo(range: Range | undefined) {
    // The range determines the resolution.
    const span = range === undefined ? { from: "", to: "" } : parameters(range);
    const next = this.#address?.with({ ...span, by: "" });
    if (next !== undefined) void this.#go(next);
  }

  #back(): boolean {
    const before = this.#before.pop();
    if (before !== undefined) void this.#go(before, false);
    return before !== undefined;
  }

  async #month(at: string, soon: boolean) {
    const next = this.#address?.with({ at });
    if (next === undefined || this.#parts === undefined) return;
    if (soon) await ask(this.#url(next), this.#parts.say).catch(() => undefined);
    else await this.#go(next, false);
  }

  /** Legends are links to the same chart with other series. */
  #click(event: MouseEvent) {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
      return;
    const link = event.composedPath().find((one) => one instanceof SVGAElement);
    if (link === undefined || link.closest(".legend") === null) return;
    const to = Address.read(link.href.baseVal, document.baseURI);
    if (to?.name !== this.#address?.name || to?.root !== this.#address?.root) return;
    event.preventDefault();
    // The page decides the appearance.
    const look = (name: string) => this.#address?.query.get(name);
    if (to) void this.#go(to.with({ theme: look("theme"), lang: look("lang") }));
  }

  async #json(say: Say, language: string): Promise<unknown> {
    const more = this.#address?.query.has("lang") ? {} : { lang: language };
    return this.#address === undefined ? null : askJson(this.#address.file("json", more), say);
  }

  /** Range of all data, from the atlas's chart of growth. */
  async #whole(say: Say): Promise<Range> {
    const now = this.#picture?.range ?? { from: 0, to: 1 };
    if (this.#address === undefined) return now;
    const answer = askJson(this.#address.chart("growth").file("json"), say);
    return (await answer.then(wholeOf).catch(() => undefined)) ?? now;
  }

  #shown(language: string): Shown | undefined {
    const [address, picture] = [this.#address, this.#picture];
    if (address === undefined || picture === undefined) return undefined;
    const { width, height } = picture;
    const title = address.goesOn ? picture.lasting : picture.name;
    return { address, title, width, height, theme: this.#theme, language };
  }

  /** If a title has no room next to the tools, the tools go above. */
  #narrow() {
    this.#parts?.frame.classList.toggle("narrow", this.clientWidth < OVERFLOW);
  }

  #fit() {
    this.#narrow();
    const picture = this.#picture;
    if (picture === undefined || this.clientWidth === 0 || this.#address === undefined) return;
    const by = this.clientWidth / picture.width;
    const better = this.#width !== picture.width;
    if (better && (by > STRETCHED || by < 1 / STRETCHED)) void this.#load();
  }
}

const linkOf = (svg: SVGSVGElement, key: string) =>
  [...svg.querySelectorAll<SVGElement>(".legend [data-key]")]
    .find((one) => one.dataset.key === key)
    ?.querySelector("a");

interface Asked {
  shown(): Shown | undefined;
  json(): Promise<unknown>;
  whole(): Promise<Range>;
  range(range: Range | undefined): void;
  back(): boolean;
  hint(): void;
  month(month: string, soon: boolean): Promise<void>;
}

/** Contents of the shadow tree. */
class Parts {
  readonly frame = make("div", { class: "frame" });
  readonly stage = make("div", { class: "stage" });
  readonly tools: HTMLElement;
  readonly times: Times;
  readonly menu: Menu;
  readonly #reader: Reader;
  readonly #zoom: Zoom;
  readonly #back: HTMLButtonElement;
  readonly #zooms: HTMLElement;
  readonly #spoken = make("p", { class: "spoken", role: "status", "data-kind": "seen" });
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly say: Say,
    readonly language: "en" | "de",
    asked: Asked,
  ) {
    this.#reader = new Reader(this.stage, say, language, asked.json);
    this.#zoom = new Zoom(this.stage, language, say, {
      whole: asked.whole,
      go: asked.range,
      back: asked.back,
      hint: asked.hint,
    });
    this.times = new Times(say, language, {
      go: (month) => asked.month(month, false),
      soon: (month) => void asked.month(month, true),
    });
    this.menu = new Menu(say, asked.shown, (text) => this.tell(text));
    this.#back = iconButton("back", say("back"), () => asked.back());
    this.#zooms = make(
      "span",
      { class: "zooms" },
      iconButton("wider", say("wider"), () => void this.#zoom.by(2)),
      iconButton("closer", say("closer"), () => void this.#zoom.by(0.5)),
    );
    this.tools = make(
      "div",
      { class: "tools", role: "group", "aria-label": say("tools") },
      this.#back,
      this.#zooms,
      this.menu.button,
    );
    this.frame.append(this.tools, this.menu.panel, this.stage, this.times.row, this.#spoken);
  }

  show(picture: Picture, old: Picture | undefined, canGoBack: boolean) {
    const before = old === undefined ? undefined : moved(old);
    old?.svg.remove();
    this.stage.prepend(picture.svg);
    this.stage.classList.toggle("over-time", picture.overTime);
    this.#reader.show(picture);
    this.#zoom.show(picture);
    this.#zooms.hidden = !picture.overTime;
    this.#back.hidden = !canGoBack;
    before?.(picture);
    const range = picture.range;
    const zoomed = old?.range?.from !== range?.from || old?.range?.to !== range?.to;
    const words = zoomed && range !== undefined && picture.overTime ? this.#zoom.words(range) : "";
    this.tell(old === undefined ? "" : words, "seen");
  }

  /** Announces a text to screen readers; also visibly, unless readers see it anyway. */
  tell(text: string, kind: "seen" | "done" | "wrong" = "done") {
    this.#spoken.textContent = text;
    this.#spoken.dataset.kind = kind;
    clearTimeout(this.#timer);
    if (kind === "done") this.#timer = setTimeout(() => this.tell("", "seen"), TOLD);
  }
}
