// Days as a row of bars. Pure.
import type { PortalDay } from "../types";

/** Figures of a day. */
export const MEASURES = ["guests", "seconds", "bytes", "log_ins", "sold"] as const;
export type Measure = (typeof MEASURES)[number];

/** Number of bars. */
export const BARS = 31;

const DAY = 86_400;

/** Start of a day, as if in UTC; seconds. */
export const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1000;

export interface Bar {
  start: number;
  /** null: the portal was closed. */
  day: PortalDay | null;
}

/** The last days up to the last known one, including days without figures. */
export function bars(days: readonly PortalDay[]): Bar[] {
  const known = new Map(days.map((day) => [startOf(day.day), day]));
  const last = Math.max(...known.keys());
  if (!Number.isFinite(last)) return [];
  return Array.from({ length: BARS }, (_, index) => {
    const start = last - (BARS - 1 - index) * DAY;
    return { start, day: known.get(start) ?? null };
  });
}

/** Height of the chart: a round number above the highest bar. */
export function top(highest: number): number {
  if (highest <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((times) => times * power >= highest) ?? 10;
  return step * power;
}
