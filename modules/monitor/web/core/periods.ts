// History as a row of bars: pure.
import type { Count } from "@/api/types";
import type { Part, Period } from "../types";

export type Unit = "hour" | "day" | "month";
export const UNITS: readonly Unit[] = ["hour", "day", "month"];

/** Number of bars of a span. */
export const BARS: Record<Unit, number> = { hour: 48, day: 31, month: 12 };

/** Keys that have a colour of their own; all others are one part. */
export const COLOURED = 7;

const total = (count: { received: Count; sent: Count }): number =>
  count.received.bytes + count.sent.bytes;

function add(sum: Count, more: Count): void {
  sum.bytes += more.bytes;
  sum.packets += more.packets;
}

/**
 * Start of the unit that contains a time, in a zone `offset` minutes east of UTC; moved by `step`
 * units.
 */
export function startOf(unit: Unit, time: number, offset: number, step = 0): number {
  const zone = offset * 60;
  const date = new Date((time + zone) * 1000);
  const [year, month, day, hour] = [
    date.getUTCFullYear(),
    date.getUTCMonth(),
    date.getUTCDate(),
    date.getUTCHours(),
  ];
  const start =
    unit === "hour"
      ? Date.UTC(year, month, day, hour + step)
      : unit === "day"
        ? Date.UTC(year, month, day + step)
        : Date.UTC(year, month + step, 1);
  return start / 1000 - zone;
}

/** The span shown: `BARS` units up to the one that holds `now`, moved back by `page` spans. */
export function span(
  unit: Unit,
  now: number,
  offset: number,
  page: number,
): { from: number; to: number } {
  const last = startOf(unit, now, offset, 1 - page * BARS[unit]);
  return { from: startOf(unit, last, offset, -BARS[unit]), to: last };
}

export interface Bar {
  start: number;
  end: number;
  /** null without data. */
  period: Period | null;
}

/** A bar for each unit of the span, also without traffic, which the daemon leaves out. */
export function bars(
  unit: Unit,
  from: number,
  to: number,
  offset: number,
  periods: readonly Period[],
): Bar[] {
  const row: Bar[] = [];
  for (let start = from; start < to && row.length < 1000; ) {
    const end = startOf(unit, start, offset, 1);
    row.push({ start, end, period: null });
    start = end;
  }
  for (const period of periods) {
    // By its middle: if the zone had another offset, the day starts an hour before or after ours.
    const middle = (period.start + period.end) / 2;
    const bar = row.find((candidate) => candidate.start <= middle && middle < candidate.end);
    if (bar !== undefined) Object.assign(bar, { period, start: period.start, end: period.end });
  }
  return row;
}

/** The traffic of each key in several periods together, the largest Internet traffic first. */
export function sums(periods: readonly Period[]): Part[] {
  const byKey = new Map<string, Part>();
  for (const period of periods) {
    for (const part of period.parts) {
      const sum = byKey.get(part.key);
      if (sum === undefined) {
        byKey.set(part.key, structuredClone(part));
      } else {
        add(sum.received, part.received);
        add(sum.sent, part.sent);
        add(sum.lan.received, part.lan.received);
        add(sum.lan.sent, part.lan.sent);
      }
    }
  }
  return [...byKey.values()].sort((a, b) => total(b) - total(a) || (a.key < b.key ? -1 : 1));
}

/** Bytes of each coloured key in a period, followed by the remaining traffic of the period. */
export function stack(period: Period | null, keys: readonly string[]): number[] {
  if (period === null) return [...keys.map(() => 0), 0];
  const own = keys.map((key) =>
    period.parts.reduce((sum, part) => (part.key === key ? sum + total(part) : sum), 0),
  );
  const rest = total(period) - own.reduce((sum, bytes) => sum + bytes, 0);
  return [...own, Math.max(0, rest)];
}
