// Display state of ports. Pure.
import type { Cable } from "../types";

/** Roles of a port. */
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

/** Roles that a user can assign to a port. */
export const CHOICES = ["uplink", "mesh", "radio", "client", "border", "switch"] as const;
export type Choice = (typeof CHOICES)[number];

/** Displayed state of a port. */
export type Shown = Role | "listening" | "none";

const isChoice = (word: string): word is Choice => CHOICES.some((one) => one === word);

/** Role; a role that this page does not know counts as unknown. */
const roleOf = ({ role }: Cable): Role => ROLES.find((one) => one === role) ?? "unknown";

/** Displayed state; a fixed role is shown whatever is plugged in. */
export function shown(cable: Cable): Shown {
  if (cable.held_by !== null) return roleOf(cable);
  if (!cable.link) return "none";
  return cable.decided === null ? "listening" : roleOf(cable);
}

/** Uses of a port. */
export const USES = ["lan", "uplink", "mesh", "none"] as const;
export type Use = (typeof USES)[number];

/** Parses a use; null: this page does not know the word. */
export const useOf = (word: string): Use | null => USES.find((one) => one === word) ?? null;

/** Reason that nothing passes, if there are words for it; null: the port passes traffic. */
export function shut(cable: Cable): "listening" | "loop" | "what" | null {
  if (!cable.shut) return null;
  const what = shown(cable);
  return what === "listening" || what === "loop" ? what : "what";
}

/** The port's automatic move; null: none, or the notices have it. */
export const moving = ({ moving: text, notices }: Cable): string | null =>
  text !== null && notices.includes(text) ? null : text;

/** Confidence as a share of 1; null: nothing is known yet, or the role is fixed. */
export function sure(cable: Cable): number | null {
  const found = cable.link && cable.decided !== null && cable.held_by === null;
  return found ? cable.confidence / 100 : null;
}

/** Suggested role, if one tap can accept it. */
export function suggested(cable: Cable): Choice | null {
  const what = shown(cable);
  return cable.held_by === null && isChoice(what) ? what : null;
}

/** Initial choice of a role. */
export function likely(cable: Cable): Choice {
  const what = shown(cable);
  return isChoice(what) ? what : "client";
}

/** The selected port, else the first. null: the selected one disappeared, or no port exists. */
export function chosen(cables: readonly Cable[], wanted: string | undefined): Cable | null {
  const found = wanted === undefined ? cables[0] : cables.find(({ device }) => device === wanted);
  return found ?? null;
}

/** An observation; `text` is null if the page has words for it. */
export interface Heard {
  after: number;
  what: "link" | "heard" | "decided";
  text: string | null;
}

/** Observations since the link, and the decision. */
export function heard(cable: Cable): Heard[] {
  if (!cable.link) return [];
  const all: Heard[] = [
    { after: 0, what: "link", text: null },
    ...cable.evidence.map(({ after, text }) => ({ after, what: "heard" as const, text })),
  ];
  // An assigned role has no time of decision.
  if (cable.decided !== null && cable.held_by === null)
    all.push({ after: cable.decided, what: "decided", text: null });
  return all.sort((a, b) => a.after - b.after);
}

/** Last state of each port, by name; "listening" before the decision. */
export type Settled = ReadonlyMap<string, { what: Shown; use: Use | null }>;

/** New state, or new use. */
export type Change = { device: string } & ({ what: Shown } | { use: Use });

/** Use that follows from a role. */
const USE_OF: Partial<Record<Shown, Use>> = {
  uplink: "uplink",
  mesh: "mesh",
  client: "lan",
  switch: "lan",
};

/**
 * Changes since the last poll. A listening port has not changed yet: a cable that moves to another
 * socket with the same role is reported once that is known. A use that follows from its role is not
 * reported separately.
 */
export function follow(
  before: Settled | null,
  cables: readonly Cable[],
): { settled: Settled; changes: Change[] } {
  const settled = new Map<string, { what: Shown; use: Use | null }>();
  const changes: Change[] = [];
  for (const cable of cables) {
    const { device } = cable;
    const [former, what, use] = [before?.get(device), shown(cable), useOf(cable.now)];
    const listens = what === "listening";
    settled.set(device, {
      what: listens ? (former?.what ?? what) : what,
      use: use ?? former?.use ?? null,
    });
    if (former === undefined) continue;
    const turned = !listens && what !== former.what;
    if (turned) changes.push({ device, what });
    if (use !== null && use !== former.use && !(turned && USE_OF[what] === use))
      changes.push({ device, use });
  }
  return { settled, changes };
}
