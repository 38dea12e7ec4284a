// What the daemon tells of uplinks that are used as one.

declare module "@/api/types" {
  interface Status {
    /** Absent where no partner is configured. */
    multipath?: { partner: string; state: string };
  }
}

export interface Paths {
  partner?: string;
  /** All of them, where there are several. */
  partners?: Candidate[];
  state: string;
  version?: string;
  problem?: string;
  /** Why this router has no key of its own. */
  keyless?: string;
  redirects: boolean;
  tunnel: boolean;
  connections: Carriage;
  paths: Path[];
  twins?: Twin[];
  forwards?: Forward[];
  locked: boolean;
  /** While the partner is not there, nothing leaves but what the configuration names. */
  stops: boolean;
  exposed?: string[];
}

/** The first partner, or one that takes over. */
export interface Candidate {
  partner: string;
  in_use: boolean;
  /** Absent as long as it was not tried. */
  reached?: boolean;
  problem?: string;
}

export interface Carriage {
  open: number;
  all: number;
  direct: number;
  /** Went to the partner as the client sent it. */
  clear: number;
  refused: number;
  sent: number;
  received: number;
}

export interface Path {
  device: string;
  address: string;
  gateway?: string;
  subflows: number;
  fell_back: number;
  /**
   * Something on the way took MPTCP out lately; absent from older routers, as the tunnel's bytes
   * are.
   */
  strips?: boolean;
  /** When it is to be used; absent from older routers, as the next two are. */
  use?: "always" | "metered" | "backup" | "never";
  in_use?: boolean;
  /** Whether the partner answers in the tunnel by it, where that is known. */
  answers?: boolean;
  /** It slowed the others down. */
  rests?: boolean;
  backup: boolean;
  /** Microseconds. */
  rtt?: number;
  sent: number;
  received: number;
  retransmitted: number;
  tunnel_sent?: number;
  tunnel_received?: number;
}

/** An uplink that waits, as it has the address of another. */
export interface Twin {
  device: string;
  address: string;
  of: string;
}

/**
 * Ports of the partner that lead to a host of the LAN; whether the partner gives them, where it is
 * there.
 */
export interface Forward {
  ports: string;
  to: string;
  granted?: boolean;
}
