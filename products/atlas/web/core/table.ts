// Values of a chart's JSON at each time, for the pointer.

import { hourOf } from "./time";

type Cell = string | number | null;
type Row = Readonly<Record<string, Cell>>;

/** A line of a point: its series, and its values. */
export interface Line {
  readonly key: string;
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** A time, and its values. */
export interface Point {
  readonly hour: number;
  /** Titles of the values, if there are several. */
  readonly heads: readonly string[];
  readonly lines: readonly Line[];
}

/** Largest number of rows that are read. */
const MOST = 100_000;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The rows of an answer: its first array but notes and columns. */
function rowsOf(answer: Record<string, unknown>): Row[] {
  const found = Object.entries(answer).find(
    ([name, value]) => Array.isArray(value) && name !== "notes" && name !== "columns",
  );
  const rows = (found?.[1] ?? []) as unknown[];
  return rows.slice(0, MOST).filter(isObject) as Row[];
}

/** Titles of columns, by key. */
function titlesOf(answer: Record<string, unknown>): Map<string, string> {
  const columns = Array.isArray(answer.columns) ? answer.columns.filter(isObject) : [];
  return new Map(columns.map((column) => [String(column.key), String(column.title)]));
}

/**
 * Points of an answer, by time. Rows of the same time are one point: the first text of a row names
 * its series. Without a text, each number in the row is a line.
 */
export function points(answer: unknown): Point[] {
  if (!isObject(answer)) return [];
  const titles = titlesOf(answer);
  const title = (key: string) => titles.get(key) ?? key;
  const found = new Map<number, { heads: string[]; lines: Line[] }>();
  for (const row of rowsOf(answer)) {
    const hour = hourOf(row.t);
    if (hour === undefined) continue;
    const point = found.get(hour) ?? { heads: [], lines: [] };
    found.set(hour, point);
    const cells = Object.entries(row).filter(([key]) => key !== "t");
    const texts = cells.filter(([, value]) => typeof value === "string");
    const numbers = cells.filter(([, value]) => typeof value !== "string");
    const of = texts[0]?.[1];
    if (typeof of === "string") {
      if (numbers.length > 1) point.heads = numbers.map(([key]) => title(key));
      const values = numbers.map(([, value]) => value as number | null);
      point.lines.push({ key: of, name: of, values });
    } else {
      for (const [key, value] of numbers)
        point.lines.push({ key, name: title(key), values: [value as number | null] });
    }
  }
  return [...found]
    .map(([hour, point]) => ({ hour, ...point }))
    .sort((one, other) => one.hour - other.hour);
}

/** Index of the nearest position; positions ascend. */
export function nearest(places: readonly number[], to: number): number {
  let [low, high] = [0, Math.max(places.length - 1, 0)];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? 0) <= to) low = middle;
    else high = middle;
  }
  const away = (at: number) => Math.abs((places[at] ?? Number.POSITIVE_INFINITY) - to);
  return away(high) < away(low) ? high : low;
}

/** Range of the whole record, from an answer without parameters. */
export function whole(answer: unknown): { from: number; to: number } | undefined {
  if (!isObject(answer)) return undefined;
  const [from, to] = [hourOf(answer.from), hourOf(answer.to)];
  return from !== undefined && to !== undefined && to > from ? { from, to } : undefined;
}
