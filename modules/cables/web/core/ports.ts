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

/** What a port can be used for. */
export const USES = ["lan", "uplink", "mesh", "none"] as const;
export type Use = (typeof USES)[number];

/** null: this page does not know the word. */
export const useOf = (word: string): Use | null => USES.find((one) => one === word) ?? null;

/** Why nothing passes, as far as there are words for it; null: it does pass. */
export function shut(cable: Cable): "listening" | "loop" | "what" | null {
  if (!cable.shut) return null;
  const what = shown(cable);
  return what === "listening" || what === "loop" ? what : "what";
}

/** Where the port goes by itself; null: nowhere, or it is said among the notices. */
export const moving = ({ moving: text, notices }: Cable): string | null =>
  text !== null && notices.includes(text) ? null : text;

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
export type Settled = ReadonlyMap<string, { what: Shown; use: Use | null }>;

/** What it is now, or what it is used for now. */
export type Change = { device: string } & ({ what: Shown } | { use: Use });

/** The use that a role says by itself. */
const USE_OF: Partial<Record<Shown, Use>> = {
  uplink: "uplink",
  mesh: "mesh",
  client: "lan",
  switch: "lan",
};

/**
 * What changed since the look before. While it is listened nothing has changed yet: a cable that
 * goes into another socket and is the same there is told of when that is known. A use that comes
 * with its role is not told a second time.
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
