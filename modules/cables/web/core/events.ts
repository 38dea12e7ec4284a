// What happened at ports, as it is shown. Pure.
import type { CableEvent, CableEvents } from "../types";
import { ROLES, type Role, type Use, useOf } from "./ports";

/** So many are shown. */
export const SHOWN = 20;

/** What is known of it: the last ones, the newest first. */
export interface Log {
  /** Those after this number are asked for. */
  last: number;
  events: readonly CableEvent[];
}

export const NOTHING: Log = { last: 0, events: [] };

/** With what was told since; null: numbers began anew, and all is to be asked for. */
export function grown(log: Log, told: CableEvents): Log | null {
  if (told.last < log.last) return null;
  const fresh = told.events.filter(({ number }) => number > log.last).reverse();
  return { last: told.last, events: [...fresh, ...log.events].slice(0, SHOWN) };
}

const MOVES = ["moved", "kept", "taken-back", "refused", "later"] as const;

/** An event that this page has words for. */
export type Said =
  | { what: "link"; up: boolean }
  | { what: "role"; role: Role }
  | { what: "move"; move: (typeof MOVES)[number]; use: Use };

/** null: only the router's own text tells of it. */
export function said({ kind, value }: CableEvent): Said | null {
  const role = ROLES.find((one) => one === value);
  const move = MOVES.find((one) => one === kind);
  const use = useOf(value);
  if (kind === "link") return { what: "link", up: value === "up" };
  if (kind === "role" && role !== undefined) return { what: "role", role };
  return move !== undefined && use !== null ? { what: "move", move, use } : null;
}

/** What the router says of it, where the page's words do not say all of that. */
export function reason(event: CableEvent): string | null {
  const words = said(event);
  const whole =
    words?.what === "link" ||
    (words?.what === "move" && (words.move === "moved" || words.move === "kept"));
  return whole ? null : event.text;
}
