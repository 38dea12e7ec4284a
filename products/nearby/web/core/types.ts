// Answers of the program (products/nearby/src/daemon/answer.rs, past.rs).

export interface Peer {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly formats: readonly string[];
  /** By what there are connections. */
  readonly linked: readonly string[];
  /** dBm. */
  readonly signal: number | null;
  /** Milliseconds since 1970, by the program's clock. */
  readonly last_seen: number;
  /** Messages that wait for it. */
  readonly waiting: number;
}

export interface Message {
  /** By which peer it came; of one that was said here to one peer alone, to whom. */
  readonly peer: string | null;
  readonly format: string | null;
  readonly sender: string;
  readonly text: string;
  /** Milliseconds since 1970, by the sender's clock: anything. */
  readonly time: number;
  readonly own: boolean;
  readonly number: number | null;
  /** To how many it was said here, how many have it, and to how many it did not get. */
  readonly to: number;
  readonly done: number;
  readonly failed: number;
}

/** What comes by the stream; the page asks anew for what it shows, and need not know more. */
/** To how many something was said who are near, and for how many who are not it waits. */
export interface Answer {
  peers: number;
  waiting: number;
}

export interface Said {
  readonly event: string;
  readonly peer?: string | null;
}
