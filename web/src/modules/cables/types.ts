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
