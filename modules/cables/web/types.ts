// The daemon's data about the router's ports.

export interface Cables {
  /** "off", "suggest" or "auto". */
  mode: string;
  cables: Cable[];
}

export interface Cable {
  device: string;
  link: boolean;
  /** A role of `ROLES` in core/ports.ts. */
  role: string;
  /** Percent. */
  confidence: number;
  evidence: CableEvidence[];
  /** Milliseconds after the link; null: not decided yet. */
  decided: number | null;
  /** "administrator", "connection" (the administrator's own uses the port), or null. */
  held_by: string | null;
  /** Current use: "lan", "uplink", "mesh" or "none". */
  now: string;
  /** True if nothing passes, in or out: the role is not known yet, or the port is a loop. */
  shut: boolean;
  /** Automatic move, or the reason for none. `notices` also has what needs attention. */
  moving: string | null;
  /** Sentences, in English, like those below. */
  why: string;
  change_condition: string;
  notices: string[];
}

export interface CableEvidence {
  kind: string;
  /** Milliseconds after the link. */
  after: number;
  /** Without a full stop. Names in the text are untrusted. */
  text: string;
}

export interface CableEvents {
  /** Number of the last event; numbers restart with the daemon. */
  last: number;
  /** The oldest first. */
  events: CableEvent[];
}

export interface CableEvent {
  number: number;
  /** Seconds since 1970. */
  when: number;
  device: string;
  /** A kind of core/events.ts. */
  kind: string;
  /** "up" or "down"; the role; the planned use. */
  value: string;
  text: string;
}
