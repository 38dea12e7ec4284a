// Scheduling of polls: pure, so that tests need no clock.

/** Interval of polls for frequently changing data, ms. */
export const USUAL = 2000;
/** Longest wait after errors, ms. */
const LONGEST_WAIT = 60_000;

export interface Polling {
  /** Interval without errors, ms. */
  readonly usual: number;
  /** Consecutive errors. */
  readonly failures: number;
  readonly visible: boolean;
}

export type PollEvent = "answered" | "failed" | "shown" | "hidden";

export const polling = (usual: number, visible: boolean): Polling => ({
  usual,
  failures: 0,
  visible,
});

/**
 * Applies an event; returns the new state, and the milliseconds until the next request: null means
 * none. A hidden page sends no requests; after errors the wait doubles each time, and a returning
 * user does not wait.
 */
export function next(state: Polling, event: PollEvent): [Polling, number | null] {
  switch (event) {
    case "answered": {
      const after = { ...state, failures: 0 };
      return [after, after.visible ? after.usual : null];
    }
    case "failed": {
      const after = { ...state, failures: Math.min(state.failures + 1, 30) };
      const wait = Math.min(after.usual * 2 ** after.failures, Math.max(LONGEST_WAIT, after.usual));
      return [after, after.visible ? wait : null];
    }
    case "shown":
      return [{ ...state, visible: true }, 0];
    case "hidden":
      return [{ ...state, visible: false }, null];
  }
}
