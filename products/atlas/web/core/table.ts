// What a chart's JSON says at each time, for those who point at it.

import { hourOf } from "./time";

type Cell = string | number | null;
type Row = Readonly<Record<string, Cell>>;

/** What is said of a point: of which series, and how much, in as many numbers as there are. */
export interface Line {
  readonly key: string;
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** A time, and what is known of it. */
export interface Point {
  readonly hour: number;
  /** What the values are, where there are several. */
  readonly heads: readonly string[];
  readonly lines: readonly Line[];
}

/** More rows than a chart may have are not read. */
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

/** What columns are called, by their keys. */
function titlesOf(answer: Record<string, unknown>): Map<string, string> {
  const columns = Array.isArray(answer.columns) ? answer.columns.filter(isObject) : [];
  return new Map(columns.map((column) => [String(column.key), String(column.title)]));
}

/**
 * The points of an answer, by time. Rows of the same time are one point: the first text in each
 * says what it is of. Where there is no text, each number in the row is a line.
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

/** Which of the places, which ascend, is nearest. */
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

/** The record as a whole, as an answer without parameters tells it. */
export function whole(answer: unknown): { from: number; to: number } | undefined {
  if (!isObject(answer)) return undefined;
  const [from, to] = [hourOf(answer.from), hourOf(answer.to)];
  return from !== undefined && to !== undefined && to > from ? { from, to } : undefined;
}
