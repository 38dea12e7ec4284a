// What the daemon tells: the Rust types in crates/answers, of which these are the fields that
// the page uses. What only one module asks for is in that module's `types.ts`. Text in `name`,
// `device`, `far_name` and the like was chosen by the network: it goes through `plain` before it is
// shown.

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

/** Conditions that need attention now, the gravest first. */
export interface Conditions {
  now: number;
  conditions: Condition[];
}

export interface Condition {
  id: string;
  severity: "critical" | "warning" | "hint";
  /** The page has a text for it: `condition.KEY`. */
  key: string;
  /** Its values; numbers in full. */
  parameters: Record<string, string>;
  /** In English. */
  text: string;
  hint?: string;
  since: number;
  module: string;
  /** View that shows more; empty: the page has none. */
  view: string;
  subject: string;
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
  owner?: string;
  icon?: string;
  /** What of name, owner and icon the configuration says. */
  configured?: string[];
  vendor?: string;
  /** The hardware address was made up. */
  made_up?: boolean;
  port: string;
  vlan?: number;
  uplink: boolean;
  /** Internet traffic; the rest is `lan`. */
  received: Count;
  sent: Count;
  rate: Rate;
  lan: { received: Count; sent: Count; rate: Rate };
  forwarded: Count;
  talks: number;
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
  /** By how much waiting grows meanwhile. */
  growth?: number;
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
  talks: Count;
  unplaced: Count;
  other: Count;
  link: number;
}

/** A module adds to it what it tells there (`declare module`, in its own `types.ts`). */
export interface Status {
  version: string;
  started: number;
  uptime_seconds: number;
  modules: string[];
  /** Not every port counts and forwards yet; absent from then on. */
  starting?: boolean;
  mode: string;
  armed: boolean;
  packets: {
    forwarded_xdp: number;
    forwarded_tc: number;
    bytes: number;
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
  /** Parts that do not work as they are configured; absent where all do. */
  troubles?: { part: string; what: string; hint: string }[];
}
