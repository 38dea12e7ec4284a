// What is made of the ports that are told. Pure.
import type { Cable } from "../types";

/** What a port can be for. */
export const ROLES = [
  "uplink",
  "mesh",
  "radio",
  "client",
  "border",
  "switch",
  "loop",
  "unknown",
] as const;
export type Role = (typeof ROLES)[number];

/** What somebody may say that a port is for. */
export const CHOICES = ["uplink", "mesh", "radio", "client", "border", "switch"] as const;
export type Choice = (typeof CHOICES)[number];

/** What a port is shown as. */
export type Shown = Role | "listening" | "none";

const isChoice = (word: string): word is Choice => CHOICES.some((one) => one === word);

/** A role that this page does not know is shown as one that cannot be told. */
const roleOf = ({ role }: Cable): Role => ROLES.find((one) => one === role) ?? "unknown";

/** A role that is kept is shown whatever is plugged in. */
export function shown(cable: Cable): Shown {
  if (cable.held_by !== null) return roleOf(cable);
  if (!cable.link) return "none";
  return cable.decided === null ? "listening" : roleOf(cable);
}

/** How sure that is, as a share of 1; null: nothing is known yet, or the role is kept. */
export function sure(cable: Cable): number | null {
  const found = cable.link && cable.decided !== null && cable.held_by === null;
  return found ? cable.confidence / 100 : null;
}

/** The role that is suggested, where one tap can take it. */
export function suggested(cable: Cable): Choice | null {
  const what = shown(cable);
  return cable.held_by === null && isChoice(what) ? what : null;
}

/** What the choice begins with. */
export function likely(cable: Cable): Choice {
  const what = shown(cable);
  return isChoice(what) ? what : "client";
}

/** The port that a reader chose, else the first. null: the chosen one is gone, or there is none. */
export function chosen(cables: readonly Cable[], wanted: string | undefined): Cable | null {
  const found = wanted === undefined ? cables[0] : cables.find(({ device }) => device === wanted);
  return found ?? null;
}

/** A point of what was heard; `text` is null where the page has words for it. */
export interface Heard {
  after: number;
  what: "link" | "heard" | "decided";
  text: string | null;
}

/** What was heard from the link on, and when it was decided. */
export function heard(cable: Cable): Heard[] {
  if (!cable.link) return [];
  const all: Heard[] = [
    { after: 0, what: "link", text: null },
    ...cable.evidence.map(({ after, text }) => ({ after, what: "heard" as const, text })),
  ];
  // A role that somebody chose was not decided at a time.
  if (cable.decided !== null && cable.held_by === null)
    all.push({ after: cable.decided, what: "decided", text: null });
  return all.sort((a, b) => a.after - b.after);
}

/** What each port was last, by name; "listening" where it was not decided yet. */
export type Settled = ReadonlyMap<string, Shown>;

export interface Change {
  device: string;
  now: Shown;
}

/**
 * What changed since the look before. While it is listened nothing has changed yet: a cable that
 * goes into another socket and is the same there is told of when that is known.
 */
export function follow(
  before: Settled | null,
  cables: readonly Cable[],
): { settled: Settled; changes: Change[] } {
  const settled = new Map<string, Shown>();
  const changes: Change[] = [];
  for (const cable of cables) {
    const { device } = cable;
    const [former, now] = [before?.get(device), shown(cable)];
    settled.set(device, now === "listening" ? (former ?? now) : now);
    if (former !== undefined && now !== "listening" && now !== former)
      changes.push({ device, now });
  }
  return { settled, changes };
}
