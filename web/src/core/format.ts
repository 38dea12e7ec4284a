// Numbers and times as text, by Intl, in the language of the page.

/** Separates number and unit without a line break. */
const SPACE = "\u00a0";
const RATES = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
const BYTES = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];

/** Formats for one language. Created once for each: building Intl objects is slow. */
export class Format {
  readonly #whole: Intl.NumberFormat;
  readonly #round: Intl.NumberFormat;
  readonly #three: Intl.NumberFormat[];
  readonly #percent: Intl.NumberFormat;
  readonly #relative: Intl.RelativeTimeFormat;
  /** True if the text around a number is right-to-left: number and unit are then kept together. */
  readonly #kept: boolean;
  readonly #dates = new Map<string, Intl.DateTimeFormat>();

  constructor(readonly language: string) {
    this.#whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
    this.#round = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
    this.#three = [0, 1, 2].map(
      (digits) =>
        new Intl.NumberFormat(language, {
          minimumFractionDigits: digits,
          maximumFractionDigits: digits,
        }),
    );
    this.#percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 });
    this.#kept = /^ar\b/.test(language);
    this.#relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  }

  /** A count: `12,345`. */
  count(value: number): string {
    return this.#whole.format(value);
  }

  /** Bits per second, by powers of 1000 as providers advertise: `12.3 Mbit/s`. */
  rate(bits: number): string {
    return this.#scaled(bits, RATES);
  }

  /** A round rate, as on an axis: `25 Mbit/s`. */
  roundRate(bits: number): string {
    return this.#scaled(bits, RATES, true);
  }

  /** Bytes, by powers of 1000, as providers count them: `4.56 GB`. */
  bytes(bytes: number): string {
    return this.#scaled(bytes, BYTES);
  }

  /** A round number of bytes. */
  roundBytes(bytes: number): string {
    return this.#scaled(bytes, BYTES, true);
  }

  /**
   * A share of 1: `42 %`. Only exact values show 0 % and 100 %.
   */
  share(part: number): string {
    const clamped = Math.min(Math.max(part, 0), 1);
    if (clamped > 0 && clamped < 0.01) return this.#run(`<${SPACE}${this.#percent.format(0.01)}`);
    if (clamped < 1 && clamped > 0.99) return this.#run(`>${SPACE}${this.#percent.format(0.99)}`);
    return this.#percent.format(clamped);
  }

  /** Milliseconds: `< 0.1 ms`, `0.4 ms`, `23 ms`. */
  milliseconds(value: number): string {
    return this.#run(`${this.fewDigits(value)}${SPACE}ms`);
  }

  /** Power or signal strength: `-67 dBm`. */
  dbm(value: number): string {
    return this.#run(`${this.count(value)}${SPACE}dBm`);
  }

  /** Few seconds: `0.4 s`, `23 s`; from a minute on as a span. */
  seconds(value: number): string {
    if (value >= 59.5) return this.span(Math.round(value));
    return this.#run(`${this.fewDigits(value)}${SPACE}s`);
  }

  /**
   * A number with one decimal digit while it is small. Measured values never show as 0.0.
   */
  fewDigits(value: number): string {
    if (value < 0.05) return this.#run(`<${SPACE}${this.#digits(0.1, 1)}`);
    return this.#digits(value, value < 10 ? 1 : 0);
  }

  /**
   * Age in one unit: `5 min ago`; `now` for the last few seconds, because the data is as old
   * itself.
   */
  ago(seconds: number): string {
    const past = Math.max(0, Math.round(seconds));
    if (past < 5) return this.#relative.format(0, "second");
    if (past < 60) return this.#relative.format(-past, "second");
    if (past < 3600) return this.#relative.format(-Math.floor(past / 60), "minute");
    if (past < 86_400) return this.#relative.format(-Math.floor(past / 3600), "hour");
    return this.#relative.format(-Math.floor(past / 86_400), "day");
  }

  /** A time span, in two units at most: `2 d 3 h`. */
  span(seconds: number): string {
    const past = Math.max(0, Math.floor(seconds));
    const units: [number, string][] = [
      [86_400, "d"],
      [3600, "h"],
      [60, "min"],
      [1, "s"],
    ];
    const first = units.findIndex(([size]) => past >= size);
    if (first < 0) return this.#run(`0${SPACE}s`);
    let rest = past;
    const parts: string[] = [];
    for (const [size, unit] of units.slice(first, first + 2)) {
      const many = Math.floor(rest / size);
      rest -= many * size;
      if (many > 0) parts.push(`${this.count(many)}${SPACE}${unit}`);
    }
    return this.#run(parts.join(" "));
  }

  /** Time of day in the reader's zone: `14:03:07`. */
  clock(seconds: number): string {
    return this.#date(
      "clock",
      { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
      seconds,
    );
  }

  /** Date and time in the reader's zone. */
  moment(seconds: number): string {
    return this.#date("moment", { dateStyle: "medium", timeStyle: "short" }, seconds);
  }

  /**
   * A period of the history, named in the router's zone, `offset` minutes east of UTC. Short names
   * are for the axis of a chart.
   */
  period(unit: string, start: number, end: number, offset: number, short: boolean): string {
    // The middle lies in the right day even if the zone had another offset then (summer time).
    const local = (unit === "hour" ? start : (start + end) / 2) + offset * 60;
    const name = `${unit}${short}`;
    const zone = { timeZone: "UTC" } as const;
    switch (unit) {
      case "hour":
        return short
          ? this.#date(
              name,
              { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...zone },
              local,
            )
          : this.#date(
              name,
              {
                weekday: "short",
                day: "numeric",
                month: "short",
                hour: "2-digit",
                minute: "2-digit",
                hourCycle: "h23",
                ...zone,
              },
              local,
            );
      case "day":
        return short
          ? this.#date(name, { day: "numeric", month: "short", ...zone }, local)
          : this.#date(
              name,
              { weekday: "short", day: "numeric", month: "short", year: "numeric", ...zone },
              local,
            );
      default:
        return short
          ? this.#date(name, { month: "short", ...zone }, local)
          : this.#date(name, { month: "long", year: "numeric", ...zone }, local);
    }
  }

  /** Left-to-right text, whatever surrounds it (UAX 9: LRI and PDI). */
  #run(text: string): string {
    return this.#kept ? `\u2066${text}\u2069` : text;
  }

  #date(name: string, options: Intl.DateTimeFormatOptions, seconds: number): string {
    let format = this.#dates.get(name);
    if (format === undefined) {
      format = new Intl.DateTimeFormat(this.language, options);
      this.#dates.set(name, format);
    }
    const time = new Date(seconds * 1000);
    return Number.isNaN(time.getTime()) ? "–" : format.format(time);
  }

  /** Three significant digits, and the fitting unit. */
  #scaled(value: number, units: readonly string[], round = false): string {
    if (!Number.isFinite(value)) return "–";
    let scaled = Math.max(0, value);
    let index = 0;
    // 999.5 would round to 1000.
    while (scaled >= 999.5 && index < units.length - 1) {
      scaled /= 1000;
      index += 1;
    }
    const digits = index === 0 || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
    const written = round ? this.#round.format(scaled) : this.#digits(scaled, digits);
    return this.#run(`${written}${SPACE}${units[index]}`);
  }

  #digits(value: number, digits: number): string {
    return (this.#three[digits] ?? this.#whole).format(value);
  }
}
