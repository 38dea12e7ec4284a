// Spans of time as hours since 1970, and as addresses write them. All times are UTC.

export type Unit = "hour" | "day" | "month";

/** From the first hour to the one after the last. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

const HOUR = 3_600_000;
const DAY = 24;

/** The hour of an ISO 8601 time; nothing where it is none. */
export function hourOf(text: unknown): number | undefined {
  if (typeof text !== "string" || !/^\d{4}-\d\d/.test(text)) return undefined;
  const hour = Date.parse(text) / HOUR;
  return Number.isFinite(hour) ? Math.floor(hour) : undefined;
}

const iso = (hour: number) => new Date(hour * HOUR).toISOString();

/** The begin of the hour, day or month that an hour is in, or of the one after it. */
export function begin(hour: number, unit: Unit, more = 0): number {
  if (unit === "hour") return Math.floor(hour) + more;
  if (unit === "day") return (Math.floor(hour / DAY) + more) * DAY;
  const date = new Date(hour * HOUR);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more, 1) / HOUR;
}

/** As addresses name it: `2019-10`, `2019-10-17`, `2019-10-17T22`. */
export function written(hour: number, unit: Unit): string {
  return iso(hour).slice(0, { month: 7, day: 10, hour: 13 }[unit]);
}

/** How exactly a span of so many hours is worth naming. */
export function grain(hours: number): Unit {
  if (hours > 24 * 730) return "month";
  return hours > 24 * 14 ? "day" : "hour";
}

/**
 * The whole days or months that a range touches, or the hours nearest to it, one at least: else an
 * hour that begins between two would become two.
 */
export function snapped({ from, to }: Range): Range & { unit: Unit } {
  const unit = grain(to - from);
  if (unit === "hour") {
    const first = Math.round(from);
    return { from: first, to: Math.max(Math.round(to), first + 1), unit };
  }
  const first = begin(from, unit);
  // What lies on the edge is not touched.
  const last = begin(Math.max(to - 1e-6, from), unit, 1);
  return { from: first, to: Math.max(last, begin(first, unit, 1)), unit };
}

/** `from` and `to` of an address; the whole of `to` is shown. */
export function parameters(range: Range): { from: string; to: string } {
  const { from, to, unit } = snapped(range);
  return { from: written(from, unit), to: written(to - 1, unit) };
}

/**
 * A range `factor` times as long, in which `at` stays where it was; within `whole`, and not shorter
 * than an hour. Nothing where that is all of it.
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

/** A time as readers write it. */
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
