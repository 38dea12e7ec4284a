// Types of the daemon's answers: the fields of the Rust types in crates/answers that the page uses.
// Types of only one module are in the module's `types.ts`. Text in `name`, `device`, `remote_name` and
// the like is untrusted: it goes through `plain` before display.

export interface Count {
  bytes: number;
  packets: number;
}

/** Bits per second, seen from a station: received goes to the station. */
export interface Rate {
  received: number;
  sent: number;
}

export interface Session {
  user: boolean;
  password_set: boolean;
  csrf: string;
  /** True if the browser runs on the router or has an SSH tunnel: it may set the first password. */
  local?: boolean;
}

/** A problem by RFC 9457, as the daemon writes it. */
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
  /** Key of the page's text: `condition.KEY`. */
  key: string;
  /** Values of the text; numbers in full. */
  parameters: Record<string, string>;
  /** Text in English. */
  text: string;
  hint?: string;
  since: number;
  module: string;
  /** View with details; empty: the page has none. */
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
  name_source?: string;
  owner?: string;
  icon?: string;
  /** Fields of name, owner and icon that the configuration sets. */
  configured?: string[];
  vendor?: string;
  /** True if the hardware address is made up. */
  local_mac?: boolean;
  port: string;
  vlan?: number;
  uplink: boolean;
  /** Internet traffic; `lan` has the rest. */
  received: Count;
  sent: Count;
  rate: Rate;
  lan: { received: Count; sent: Count; rate: Rate };
  forwarded: Count;
  conversations: number;
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
  lan_min?: number;
  wan_min?: number;
  retransmissions: number;
  bufferbloat?: string;
  /** Growth of latency under load. */
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
  /** As for a station: `sent` comes in here. At an uplink that is the download. */
  rate: Rate;
}

export interface Metered {
  conversations: Count;
  unplaced: Count;
  other: Count;
  link: number;
}

/** Modules add their own fields (`declare module`, in their `types.ts`). */
export interface Status {
  version: string;
  started: number;
  uptime_seconds: number;
  modules: string[];
  /** True while not every port counts and forwards yet; absent from then on. */
  starting?: boolean;
  mode: string;
  armed: boolean;
  packets: {
    forwarded_xdp: number;
    forwarded_tc: number;
    bytes: number;
    passed: Record<string, number>;
  };
  fast_path_share?: number;
  /**
   * Connections left to the kernel by rules that see each packet, the most expensive rule first;
   * absent without such rules.
   */
  each_packet?: {
    connections: number;
    rules: { rule: string; why: string; connections: number }[];
  };
  heartbeat: { age_seconds: number; limit_seconds: number };
  /** Parts that do not work as configured; absent if all work. */
  problems?: { part: string; what: string; hint: string }[];
}
