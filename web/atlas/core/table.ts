// What a chart's JSON says at each time, for those who point at it.

import { hourOf } from "./time";

type Cell = string | number | null;
type Row = Readonly<Record<string, Cell>>;

/** What is said of a point: of which series, and how much. */
export interface Line {
  readonly key: string;
  readonly name: string;
  readonly value: number | null;
}

/** A time, and what is known of it. */
export interface Point {
  readonly hour: number;
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
 * says what it is of, the first number how much. Else each number in the row is a line.
 */
export function points(answer: unknown): Point[] {
  if (!isObject(answer)) return [];
  const titles = titlesOf(answer);
  const found = new Map<number, Line[]>();
  for (const row of rowsOf(answer)) {
    const hour = hourOf(row.t);
    if (hour === undefined) continue;
    const cells = Object.entries(row).filter(([key]) => key !== "t");
    const [, of] = cells.find(([, value]) => typeof value === "string") ?? [];
    const numbers = cells.filter(([, value]) => typeof value !== "string");
    const lines =
      typeof of === "string"
        ? numbers
            .slice(0, 1)
            .map(([, value]) => ({ key: of, name: of, value: value as number | null }))
        : numbers.map(([key, value]) => ({
            key,
            name: titles.get(key) ?? key,
            value: value as number | null,
          }));
    found.set(hour, [...(found.get(hour) ?? []), ...lines]);
  }
  return [...found]
    .map(([hour, lines]) => ({ hour, lines }))
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
