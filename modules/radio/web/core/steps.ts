// What was tried with an access point, as it is drawn.
import type { RadioStep, RadioSteps } from "../types";

/** Seconds that are drawn. */
export const SPAN = 120;

/** What is worth a mark: what was not looked for. */
const TELLING = ["newcomer", "silent", "edge", "wall", "lost", "worse"];

/** A step, and how many seconds ago it was. */
export interface Point extends RadioStep {
  /** No step has another's. */
  key: string;
  /** No more than is drawn. */
  ago: number;
  telling: boolean;
}

/** Steps in the order of their times; the first may be one that held before what is drawn. */
export function points({ now_ms, steps }: RadioSteps): Point[] {
  const seen = new Map<number, number>();
  return steps.map((step) => {
    const same = seen.get(step.at_ms) ?? 0;
    seen.set(step.at_ms, same + 1);
    return {
      ...step,
      key: `${step.at_ms} ${same}`,
      ago: Math.min(Math.max((now_ms - step.at_ms) / 1000, 0), SPAN),
      telling: TELLING.includes(step.reason),
    };
  });
}

/**
 * What is drawn as one line: all steps; where each is of a station, as each has a power of its own,
 * those of each.
 */
export function lines(all: readonly Point[]): Point[][] {
  const shared = all.some(({ station }) => station === null);
  const by = new Map<string | null, Point[]>();
  for (const point of all) {
    const of = shared ? null : point.station;
    by.set(of, [...(by.get(of) ?? []), point]);
  }
  return [...by.values()];
}

/** The end of a scale that has all of these in it, from nothing up. */
export const highest = (values: readonly (number | null)[]): number =>
  Math.max(0, ...values.filter((value) => value !== null));

/** The place of the point that is nearest to so many seconds ago; null where there is none. */
export function nearest(all: readonly Point[], ago: number): number | null {
  let best: number | null = null;
  for (const [index, point] of all.entries()) {
    const former = best === null ? undefined : all[best];
    if (former === undefined || Math.abs(point.ago - ago) <= Math.abs(former.ago - ago))
      best = index;
  }
  return best;
}
