// What the daemon tells: the Rust types in crates/api/src/types, of which these are the fields that
// the page uses. Text in `name`, `device`, `far_name` and the like was chosen by the network: it
// goes through `plain` before it is shown.

export interface Count {
  bytes: number;
  packets: number;
}

/** Bits a second, seen from a station: received is what goes to it. */
export interface Rate {
  received: number;
  sent: number;
}

export interface Session {
  user: boolean;
  password_set: boolean;
  csrf: string;
  /** Whether the browser runs on the router: only there the first password can be set. */
  local?: boolean;
}

/** RFC 9457, as the daemon writes it. */
export interface Problem {
  status: number;
  error: string;
  detail: string;
  hint: string;
}

export interface Devices {
  since: number;
  now: number;
  devices: Device[];
  ports: MeteredPort[];
}

export interface Device {
  mac: string;
  addresses: string[];
  name: string | null;
  name_from?: string;
  port: string;
  vlan?: number;
  uplink: boolean;
  received: Count;
  sent: Count;
  forwarded: Count;
  rate: Rate;
  flows: number;
  first_seen: number;
  last_seen: number;
  latency?: Latency;
  wifi?: Wifi;
  quota?: QuotaState;
}

/** Milliseconds. */
export interface Latency {
  lan?: number;
  wan?: number;
  lan_least?: number;
  wan_least?: number;
  retransmissions: number;
  bufferbloat?: string;
}

export interface Wifi {
  signal?: number;
  rate_to?: number;
  rate_from?: number;
  retries?: number;
  failed?: number;
  airtime?: number;
}

export interface QuotaState {
  period: string;
  limit: number;
  used: number;
  state: string;
  resets: number;
}

export interface MeteredPort {
  name: string;
  uplink: boolean;
  incoming: Metered;
  outgoing: Metered;
  /** As a station's: `sent` comes in here. At an uplink that is the download. */
  rate: Rate;
}

export interface Metered {
  flows: Count;
  unplaced: Count;
  other: Count;
  link: number;
}

export interface Talks {
  total: number;
  talks: Talk[];
}

export interface Talk {
  id: number | string;
  port: string;
  vlan?: number;
  mac: string;
  device?: string;
  protocol_number: number;
  protocol?: string;
  station: string;
  station_port: number;
  far: string;
  far_port: number;
  far_name?: string;
  application?: string;
  translated?: string;
  behind?: string;
  outside?: boolean;
  uplink?: string;
  received: Count;
  sent: Count;
  rate: Rate;
  hook?: string;
  first_seen: number;
  last_seen: number;
  latency?: Latency;
}

export interface History {
  unit: string;
  by: string;
  offset_minutes: number;
  periods: Period[];
}

export interface Period {
  start: number;
  end: number;
  received: Count;
  sent: Count;
  parts: Part[];
}

export interface Part {
  key: string;
  name?: string;
  received: Count;
  sent: Count;
}

export interface Status {
  version: string;
  started: number;
  uptime_seconds: number;
  modules: string[];
  mode: string;
  armed: boolean;
  packets: {
    forwarded_xdp: number;
    forwarded_tc: number;
    octets: number;
    passed: Record<string, number>;
  };
  share_of_packets?: number;
  /**
   * Connections left to the kernel by rules that see each packet, the dearest rule first; absent
   * where there are no such rules.
   */
  each_packet?: {
    connections: number;
    rules: { rule: string; why: string; connections: number }[];
  };
  heartbeat: { age_seconds: number; limit_seconds: number };
  /** Absent where no partner is configured. */
  multipath?: { partner: string; state: string };
}

export interface Paths {
  partner?: string;
  state: string;
  version?: string;
  problem?: string;
  redirects: boolean;
  tunnel: boolean;
  connections: Carriage;
  paths: Path[];
  twins?: Twin[];
  forwards?: Forward[];
}

export interface Carriage {
  open: number;
  all: number;
  direct: number;
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
   * Something on the way took MPTCP out lately; absent from older routers, as the tunnel's octets
   * are.
   */
  strips?: boolean;
  /** When it is to be used; absent from older routers, as the next two are. */
  use?: "always" | "metered" | "backup" | "never";
  in_use?: boolean;
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

export interface FlowList {
  matched: number;
  flows: Flow[];
}

export interface Endpoints {
  source: string;
  source_port: number;
  destination: string;
  destination_port: number;
}

export interface Flow {
  id: string;
  protocol: string;
  original: Endpoints;
  reply: Endpoints;
  state: string;
  reason?: Reason;
  directions: { original: Direction; reply: Direction };
  age_seconds: number;
}

export interface Reason {
  code: string;
  text: string;
  hint?: string;
}

export interface Direction {
  packets: number;
  octets: number;
  proven: boolean;
  port_in?: string;
  encapsulation_in?: string;
  port_out?: string;
  hop?: number;
  hook?: string;
}

export interface Hop {
  index: number;
  device: string;
  destination?: string;
  source?: string;
  encapsulation?: string;
  flows: number;
  xdp: boolean;
}

export interface Explanation {
  asked: string;
  verdict: string;
  witnesses: { name: string; ok: boolean; text: string }[];
  change: string[];
  flow?: Flow;
}
