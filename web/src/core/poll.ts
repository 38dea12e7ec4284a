// When to ask again: pure, so that it can be tried without a clock.

/** Milliseconds between two looks at what changes all the time. */
export const USUAL = 2000;
/** The longest wait after errors. */
const LONGEST_WAIT = 60_000;

export interface Polling {
  /** Milliseconds between looks when all is well. */
  readonly usual: number;
  /** Errors in a row. */
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
 * What an event makes of it, and after how many milliseconds to ask: null is not at all. A page
 * that nobody sees asks nothing; after errors it waits twice as long each time, and a person who
 * comes back to it is not kept waiting.
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
