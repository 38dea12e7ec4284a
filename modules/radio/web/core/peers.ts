// Access points that are peers, or may become some.
import type { RadioPeer } from "../types";

/** As far as a peer comes, from the beginning. */
export const STATES = ["seen", "waiting", "handshake", "installed", "alive"] as const;

/** Why one waits. */
export const WAITS = ["faint", "full"] as const;

/** Nothing goes over these yet. */
const BEFORE: readonly string[] = ["seen", "waiting", "handshake"];

/**
 * Whether what goes over it can be read by whoever is near, or will be; null: nothing goes over it
 * yet.
 */
export function isOpen({ state, encrypted, clear }: RadioPeer): boolean | null {
  if (encrypted) return false;
  if (clear === true) return true;
  return BEFORE.includes(state) ? null : true;
}

/** Why it waits, where that is told and known; null: it does not, or that is not known. */
export function waiting({ state, waits }: RadioPeer): (typeof WAITS)[number] | null {
  return state === "waiting" ? (WAITS.find((why) => why === waits) ?? null) : null;
}

/** Order of those that came farthest first; of states that are not known, last. */
export const order = ({ state }: RadioPeer): number => {
  const place = (STATES as readonly string[]).indexOf(state);
  return place < 0 ? 1 : -place;
};
