// The daemon's data about uplinks that are used as one.

declare module "@/api/types" {
  interface Status {
    /** Absent if no partner is configured. */
    multipath?: { partner: string; state: string };
  }
}

export interface Paths {
  partner?: string;
  /** All partners, if there are several. */
  partners?: Candidate[];
  state: string;
  version?: string;
  problem?: string;
  /** Reason why this router has no key of its own. */
  keyless?: string;
  redirects: boolean;
  tunnel: boolean;
  connections: Carriage;
  paths: Path[];
  twins?: Twin[];
  forwards?: Forward[];
  locked: boolean;
  /** True if clients' traffic stops without the partner, but for configured exceptions. */
  stops: boolean;
  exposed?: string[];
}

/** The first partner, or a standby. */
export interface Candidate {
  partner: string;
  in_use: boolean;
  /** Absent before the first attempt. */
  reached?: boolean;
  problem?: string;
}

export interface Carriage {
  open: number;
  all: number;
  direct: number;
  /** Connections that went to the partner as the client sent them. */
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
   * True if a device on the path removed MPTCP recently; absent from older routers, as the tunnel's
   * bytes are.
   */
  strips?: boolean;
  /** Condition of use; absent from older routers, as the next two are. */
  use?: "always" | "metered" | "backup" | "never";
  in_use?: boolean;
  /** True if the partner answers in the tunnel by this path, if known. */
  answers?: boolean;
  /** True if the path slowed the others down. */
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

/** An uplink that waits because it has the address of another. */
export interface Twin {
  device: string;
  address: string;
  of: string;
}

/**
 * Ports of the partner that lead to a host of the LAN; `granted` shows if the partner grants them,
 * while connected.
 */
export interface Forward {
  ports: string;
  to: string;
  granted?: boolean;
}
