// Answers of the program (products/nearby/src/daemon/routes.rs, past.rs).

export interface Peer {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly formats: readonly string[];
  /** Kinds of links to the peer. */
  readonly linked: readonly string[];
  /** dBm. */
  readonly signal: number | null;
  /** Milliseconds since 1970, by the program's clock. */
  readonly last_seen: number;
  /** Messages that wait for the peer. */
  readonly waiting: number;
}

export interface Message {
  /** Peer that the message came through; for an own message to one peer, that peer. */
  readonly peer: string | null;
  readonly format: string | null;
  readonly sender: string;
  readonly text: string;
  /** Milliseconds since 1970, by the sender's clock: untrusted. */
  readonly time: number;
  readonly own: boolean;
  readonly number: number | null;
  /** Number of recipients of an own message, of deliveries, and of failures. */
  readonly to: number;
  readonly done: number;
  readonly failed: number;
}

/** Event of the stream; the page fetches its data again, and needs no more. */
/** Numbers of near recipients, and of absent ones for whom the message waits. */
export interface Answer {
  peers: number;
  waiting: number;
}

export interface Said {
  readonly event: string;
  readonly peer?: string | null;
}
