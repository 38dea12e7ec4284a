// Time spans in hours since 1970, and in the form of addresses. All times are UTC.

export type Unit = "hour" | "day" | "month";

/** From the first hour to the one after the last. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

const HOUR = 3_600_000;
const DAY = 24;

/** Hour of an ISO 8601 time; undefined if invalid. */
export function hourOf(text: unknown): number | undefined {
  if (typeof text !== "string" || !/^\d{4}-\d\d/.test(text)) return undefined;
  const hour = Date.parse(text) / HOUR;
  return Number.isFinite(hour) ? Math.floor(hour) : undefined;
}

const iso = (hour: number) => new Date(hour * HOUR).toISOString();

/** Start of the hour, day or month of an hour, or of a later one. */
export function begin(hour: number, unit: Unit, more = 0): number {
  if (unit === "hour") return Math.floor(hour) + more;
  if (unit === "day") return (Math.floor(hour / DAY) + more) * DAY;
  const date = new Date(hour * HOUR);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more, 1) / HOUR;
}

/** Form in addresses: `2019-10`, `2019-10-17`, `2019-10-17T22`. */
export function written(hour: number, unit: Unit): string {
  return iso(hour).slice(0, { month: 7, day: 10, hour: 13 }[unit]);
}

/** Unit that fits a span of this many hours. */
export function grain(hours: number): Unit {
  if (hours > 24 * 730) return "month";
  return hours > 24 * 14 ? "day" : "hour";
}

/**
 * The whole days or months that a range touches, or the nearest hours, at least one: rounding
 * outwards could turn one hour into two.
 */
export function snapped({ from, to }: Range): Range & { unit: Unit } {
  const unit = grain(to - from);
  if (unit === "hour") {
    const first = Math.round(from);
    return { from: first, to: Math.max(Math.round(to), first + 1), unit };
  }
  const first = begin(from, unit);
  // The edge itself is not touched.
  const last = begin(Math.max(to - 1e-6, from), unit, 1);
  return { from: first, to: Math.max(last, begin(first, unit, 1)), unit };
}

/** `from` and `to` of an address; the whole of `to` is shown. */
export function parameters(range: Range): { from: string; to: string } {
  const { from, to, unit } = snapped(range);
  return { from: written(from, unit), to: written(to - 1, unit) };
}

/**
 * A range `factor` times as long, in which `at` keeps its position; within `whole`, and not shorter
 * than an hour. undefined: the whole range.
 */
export function scaled(range: Range, factor: number, at: number, whole: Range): Range | undefined {
  const length = Math.max((range.to - range.from) * factor, 1);
  if (length >= whole.to - whole.from) return undefined;
  const part = (at - range.from) / (range.to - range.from);
  const from = Math.min(Math.max(at - part * length, whole.from), whole.to - length);
  return { from, to: from + length };
}

/** The months that a range touches, as addresses name them. */
export function months({ from, to }: Range): string[] {
  const named: string[] = [];
  for (let hour = begin(from, "month"); hour < to && named.length < 1200; )
    [, hour] = [named.push(written(hour, "month")), begin(hour, "month", 1)];
  return named;
}

/** Formats a time for readers. */
export function told(hour: number, unit: Unit, language: string): string {
  const options: Intl.DateTimeFormatOptions = { year: "numeric", month: "long", timeZone: "UTC" };
  if (unit !== "month") options.day = "numeric";
  if (unit === "hour") {
    Object.assign(options, { month: "short", hour: "2-digit", minute: "2-digit" });
    Object.assign(options, { hourCycle: "h23", timeZoneName: "short" });
  }
  return new Intl.DateTimeFormat(language === "en" ? "en-GB" : language, options).format(
    hour * HOUR,
  );
}
