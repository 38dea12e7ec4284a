// Events at ports, in display form. Pure.
import type { CableEvent, CableEvents } from "../types";
import { ROLES, type Role, type Use, useOf } from "./ports";

/** Number of shown events. */
export const SHOWN = 20;

/** Known events: the last ones, the newest first. */
export interface Log {
  /** Number of the last known event. */
  last: number;
  events: readonly CableEvent[];
}

export const NOTHING: Log = { last: 0, events: [] };

/** Adds new events; null: numbers restarted, and all events must be fetched. */
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

/** Event in the page's words; null: only the router's own text describes it. */
export function said({ kind, value }: CableEvent): Said | null {
  const role = ROLES.find((one) => one === value);
  const move = MOVES.find((one) => one === kind);
  const use = useOf(value);
  if (kind === "link") return { what: "link", up: value === "up" };
  if (kind === "role" && role !== undefined) return { what: "role", role };
  return move !== undefined && use !== null ? { what: "move", move, use } : null;
}

/** The router's reason, if the page's words lack it. */
export function reason(event: CableEvent): string | null {
  const words = said(event);
  const whole =
    words?.what === "link" ||
    (words?.what === "move" && (words.move === "moved" || words.move === "kept"));
  return whole ? null : event.text;
}
