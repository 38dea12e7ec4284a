// Requests to the router, and its answers: the document of modules/setup/core, and its messages.rs.
// Names in them are untrusted: they go through `plain`.

export interface Choices {
  format: number;
  router?: Router;
  internet?: Internet;
  lan?: Lan;
  wifi?: Wifi;
  mesh?: Mesh;
  dns?: Dns;
  wireguard?: WireGuard;
  openvpn?: OpenVpn;
  firewall?: Firewall;
}
export type Part = Exclude<keyof Choices, "format">;

export interface Router {
  name: string;
  language?: string;
  timezone?: string;
  password?: string;
  password_hash?: string;
  /** Degrees north and east, as text. */
  place?: string[];
}

/** "kept": as it is, by a protocol that the wizard does not offer. */
export type Uplink = "dhcp" | "static" | "pppoe" | "mobile" | "wifi" | "none" | "kept";

export interface Internet {
  kind: Uplink;
  /** The device, if the router does not know it. */
  port?: string;
  vlan?: number | null;
  ipv6: boolean;
  address?: string;
  gateway?: string;
  dns?: string[];
  username?: string;
  password?: string;
  service?: string;
  apn?: string;
  pin?: string;
  modem?: string;
  ssid?: string;
  key?: string;
  radio?: string;
}

export interface Lan {
  address: string;
  ports?: string[];
  dhcp: boolean;
  first: number;
  count: number;
  lease: string;
}

export interface Wifi {
  country?: string;
  networks: Network[];
}

/** "kept": as it is, by an encryption that the wizard does not offer. */
export type Security = "mixed" | "wpa3" | "wpa2" | "owe" | "open" | "kept";

export interface Network {
  ssid: string;
  key?: string;
  security: Security;
  for: "lan" | "guest";
  radios?: string[];
  roaming?: boolean;
  hidden?: boolean;
}

export interface Mesh {
  kind: "none" | "batman" | "apup";
  name?: string;
  key?: string;
  radios?: string[];
  country?: string;
  channel?: number | null;
  gateway?: boolean;
}

/** "kept": as they are, servers that the wizard does not offer. */
export type DnsServer =
  | "provider"
  | "own"
  | "quad9"
  | "digitalegesellschaft"
  | "mullvad"
  | "cloudflare"
  | "kept";

export interface Dns {
  server: DnsServer;
  servers?: string[];
}

export interface WireGuard {
  on: boolean;
  port: number;
  address: string;
  /** Address at which clients reach the router from outside. */
  endpoint?: string;
  private_key?: string;
  clients?: WireGuardClient[];
}

export interface WireGuardClient {
  name: string;
  address?: string;
  public_key?: string;
  preshared_key?: string;
}

export interface OpenVpn {
  on: boolean;
  port: number;
  network: string;
  /** Address at which clients reach the router from outside. */
  endpoint?: string;
  /** Absent: the existing clients stay. */
  clients?: OpenVpnClient[];
}

export interface OpenVpnClient {
  name: string;
}

export interface Firewall {
  forwards: Forward[];
  blocked: Blocked[];
}

export interface Forward {
  name: string;
  protocol: "tcp" | "udp" | "both";
  port: string;
  to?: string | null;
  to_port?: string;
}

export interface Blocked {
  name: string;
  mac: string;
}

/** The router as it is now. */
export interface Setup {
  release: { name: string; version: string; known: boolean };
  model: string | null;
  radios: Radio[];
  ports: string[];
  choices: Choices;
  /** Paths of stored secrets, which are not sent: `wifi.networks[0].key`. */
  kept: string[];
  pending: SetupChange | null;
  /** The last reverted change, if none was confirmed since. */
  undone: SetupChange | null;
  /** Reachability while a change waits; null if the router needs no Internet. */
  reach: Reach | null;
  states: SetupChange[];
}

export interface Reach {
  way: "reached" | "no-route" | "no-gateway" | "no-names";
  /** Name of the one that does not answer. */
  whom: string | null;
  says: string;
}

export interface Radio {
  name: string;
  bands: string[];
  wpa3: boolean;
  mesh: boolean;
  apup: boolean;
}

export interface SetupChange {
  number: number;
  why: string;
  who: string;
  when: number;
  /** Seconds left to confirm the change. */
  left: number | null;
  files: string[];
  lines: string[];
}

/** Result of the choices. */
export interface Plan {
  problems: FieldProblem[];
  lines: Line[];
  sentences: Sentence[];
  strength: Strength | null;
  /** New address of the router, if it changes. */
  address: string | null;
}

export interface FieldProblem {
  /** Path such as `internet.address`, `wifi.networks[0].key`. */
  field: string;
  problem: string;
  values: Record<string, string>;
  says: string;
  hint: string;
}

export interface Line {
  added: boolean;
  /** Option such as `network.lan.proto`. */
  address: string;
  value: string;
  list: boolean;
}

export interface Sentence {
  step: string;
  sentence: string;
  values: Record<string, string>;
  says: string;
}

export interface Strength {
  /** 0 to 4. */
  score: number;
  warning: string | null;
  suggestions: string[];
}

export interface Applied {
  change: SetupChange;
  address: string | null;
  once: ClientFile[];
}

/** A client's file, which is shown once. */
export interface ClientFile {
  name: string;
  tunnel: "wireguard" | "openvpn";
  file: string;
  /** QR code, if a telephone could use the file. */
  qr: { side: number; path: string } | null;
}

/** A detection at the uplink, running or finished. */
export interface Detection {
  running: boolean;
  port: string;
  evidence: Evidence[];
  suggestion: Suggestion | null;
  /** Reason for failure, and advice. */
  failed: string | null;
}

/** An observation. */
export interface Evidence {
  kind: string;
  vlan: number | null;
  /** Milliseconds after the start. */
  after: number;
  fields: Record<string, string[]>;
  text: string;
}

/** Suggested way to reach the Internet. */
export interface Suggestion {
  internet: "dhcp" | "static" | "pppoe" | "dhcpv6-only" | "none";
  vlan: number | null;
  details: Details;
  /** Another network for the LAN, if the provider uses the same one. */
  lan: { former: string; network: string | null; why: string } | null;
  why: string[];
  confident: boolean;
  open_questions: string[];
}

/** Details of an Internet access. */
export interface Details {
  services: string[];
  concentrators: string[];
  servers: string[];
  addresses: string[];
  network: string | null;
  gateway: string | null;
  dns: string[];
  prefixes: string[];
  delegated: string[];
  ipv6: boolean;
  aftr: string | null;
  shared: string[];
  nat64: string | null;
  portal: string | null;
}

/** Data for another node to join the mesh: a secret. */
export interface Join {
  document: string;
  qr: { side: number; path: string };
}
