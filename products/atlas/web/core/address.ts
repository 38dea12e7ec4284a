// A chart's address is its whole state: https://host/chart/growth?from=2019-01. Files, embeds and
// pages of the same state follow from it.

const PATH = /^(.*)\/(?:chart|embed)\/([a-z][a-z0-9-]*)(?:\.(?:svg|json|csv))?\/?$/;

/** Parameters of a picture's appearance, not its content: the component sets them. */
const LOOKS = ["width", "height", "notes", "fit"];

export class Address {
  private constructor(
    /** Address of the atlas, without a slash at the end. */
    readonly root: string,
    /** The chart's name. */
    readonly name: string,
    readonly query: ReadonlyMap<string, string>,
  ) {}

  /** Parses an address of a page, embed or file; undefined for other addresses. */
  static read(text: string, base: string): Address | undefined {
    let url: URL;
    try {
      url = new URL(text, base);
    } catch {
      return undefined;
    }
    const [, folder, name] = PATH.exec(url.pathname) ?? [];
    if (!/^https?:$/.test(url.protocol) || folder === undefined || name === undefined)
      return undefined;
    const query = new Map([...url.searchParams].filter(([key]) => !LOOKS.includes(key)));
    return new Address(url.origin + folder, name, query);
  }

  /** This address with other parameters; an empty one is removed. */
  with(changes: Readonly<Record<string, string | undefined>>): Address {
    const query = new Map(this.query);
    for (const [key, value] of Object.entries(changes)) {
      if (value === undefined || value === "") query.delete(key);
      else query.set(key, value);
    }
    return new Address(this.root, this.name, query);
  }

  /** Another chart of the same atlas, as it is without parameters. */
  chart(name: string): Address {
    return new Address(this.root, name, new Map());
  }

  page(): string {
    return this.#at(`chart/${this.name}`, {});
  }

  embed(): string {
    return this.#at(`embed/${this.name}`, {});
  }

  file(kind: "svg" | "json" | "csv", more: Readonly<Record<string, string>> = {}): string {
    return this.#at(`chart/${this.name}.${kind}`, more);
  }

  /** True if the chart always ends with the newest data. */
  get goesOn(): boolean {
    return !this.query.get("at") && !this.query.get("to");
  }

  /** A name for a file that is saved: `growth-2019-01-2019-12`. */
  stem(): string {
    const parts = ["from", "to", "at", "key"].flatMap((key) => this.query.get(key) ?? []);
    const plain = parts.map((part) => part.replace(/[^\w-]+/g, "-").slice(0, 40));
    return [this.name, ...plain].join("-");
  }

  same(other: Address | undefined): boolean {
    return other !== undefined && this.page() === other.page();
  }

  #at(path: string, more: Readonly<Record<string, string>>): string {
    const pairs = [...this.query, ...Object.entries(more)].map(([key, value]) =>
      [key, value].map(encodeURIComponent).join("="),
    );
    const query = pairs.join("&").replaceAll("%2C", ",").replaceAll("%3A", ":");
    return `${this.root}/${path}${query === "" ? "" : `?${query}`}`;
  }
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

/** Code that embeds the chart in a page. */
export function snippets(address: Address, title: string) {
  const page = escaped(address.page());
  const picture = escaped(address.file("svg"));
  const narrow = escaped(address.file("svg", { width: "340", height: "400" }));
  const name = escaped(title);
  const img = `<img src="${picture}" alt="${name}" width="100%">`;
  return {
    component: `<script type="module" src="${escaped(address.root)}/weir-chart.js"></script>\n<weir-chart src="${page}"><a href="${page}">${img}</a></weir-chart>`,
    iframe: `<iframe src="${escaped(address.embed())}" title="${name}" width="100%" height="520" loading="lazy" frameborder="0"></iframe>`,
    // A wide picture shrunk to a telephone's width would be illegible. No styles, which many
    // policies forbid.
    img: `<a href="${page}"><picture><source media="(max-width: 600px)" srcset="${narrow}">${img}</picture></a>`,
  };
}
