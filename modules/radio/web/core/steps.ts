// Power steps of an access point, in display form.
import type { RadioStep, RadioSteps } from "../types";

/** Drawn time span, in seconds. */
export const SPAN = 120;

/** Reasons that get a mark: unexpected steps. */
const TELLING = ["newcomer", "silent", "edge", "wall", "lost", "worse"];

/** A step, and its age in seconds. */
export interface Point extends RadioStep {
  /** Unique key of the step. */
  key: string;
  /** Age, limited to the drawn span. */
  ago: number;
  telling: boolean;
}

/** Steps in order of time; the first may have begun before the drawn span. */
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
 * Steps drawn as one line: all of them; or, if each step belongs to a station with a power of its
 * own, those of each station.
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

/** End of a scale from zero that covers these values. */
export const highest = (values: readonly (number | null)[]): number =>
  Math.max(0, ...values.filter((value) => value !== null));

/** Index of the point with the nearest age; null without points. */
export function nearest(all: readonly Point[], ago: number): number | null {
  let best: number | null = null;
  for (const [index, point] of all.entries()) {
    const former = best === null ? undefined : all[best];
    if (former === undefined || Math.abs(point.ago - ago) <= Math.abs(former.ago - ago))
      best = index;
  }
  return best;
}
