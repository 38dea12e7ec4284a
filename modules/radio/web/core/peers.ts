// Access points that are, or may become, peers.
import type { RadioPeer } from "../types";

/** States of a peer, in order of progress. */
export const STATES = ["seen", "waiting", "handshake", "installed", "alive"] as const;

/** Reasons for waiting. */
export const WAITS = ["faint", "full"] as const;

/** States without traffic. */
const BEFORE: readonly string[] = ["seen", "waiting", "handshake"];

/**
 * True if others nearby can, or could, read the traffic with a peer; null: there is no traffic yet.
 */
export function isOpen({ state, encrypted, clear }: RadioPeer): boolean | null {
  if (encrypted) return false;
  if (clear === true) return true;
  return BEFORE.includes(state) ? null : true;
}

/** Reason for waiting, if reported and known; else null. */
export function waiting({ state, waits }: RadioPeer): (typeof WAITS)[number] | null {
  return state === "waiting" ? (WAITS.find((why) => why === waits) ?? null) : null;
}

/** Sort key: the most advanced state first, unknown states last. */
export const order = ({ state }: RadioPeer): number => {
  const place = (STATES as readonly string[]).indexOf(state);
  return place < 0 ? 1 : -place;
};
