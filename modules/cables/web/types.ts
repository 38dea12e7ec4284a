// What the daemon tells of the router's ports.

export interface Cables {
  /** "off", "suggest" or "auto". */
  mode: string;
  cables: Cable[];
}

export interface Cable {
  device: string;
  link: boolean;
  /** As `ROLES` in core/ports.ts has them. */
  role: string;
  /** Of 100. */
  confidence: number;
  evidence: CableEvidence[];
  /** Milliseconds after the link; null: it is still listened. */
  decided: number | null;
  /** "administrator", "connection" (the administrator's own comes by it), or nobody. */
  held_by: string | null;
  /** What it is used for: "lan", "uplink", "mesh" or "none". */
  now: string;
  /** Nothing passes, in or out: it is not known yet what it is for, or it is a loop. */
  shut: boolean;
  /** Where it goes by itself, or why not. What somebody should see to is in `notices`, too. */
  moving: string | null;
  /** Sentences, in English; as those below. */
  why: string;
  would_change: string;
  notices: string[];
}

export interface CableEvidence {
  kind: string;
  /** Milliseconds after the link. */
  after: number;
  /** Without a full stop. Names in it were chosen by whoever is at the other end. */
  text: string;
}

export interface CableEvents {
  /** The number of the last one; they begin anew when the daemon does. */
  last: number;
  /** The oldest first. */
  events: CableEvent[];
}

export interface CableEvent {
  number: number;
  /** Seconds since 1970. */
  when: number;
  device: string;
  /** As core/events.ts has them. */
  kind: string;
  /** "up" or "down"; the role; what it is to be used for. */
  value: string;
  text: string;
}
