// What the daemon tells of radios. Rates are Mbit/s, powers and signals dBm.

export interface Radios {
  /** "off", "watch" or "control". */
  mode: string;
  radios: Radio[];
}

export interface Radio {
  device: string;
  /** null: its driver does not tell. */
  power_dbm: number | null;
  most_dbm: number;
  /** null: not found yet. */
  enough_dbm: number | null;
  /** A word, for which there is a text (`reason.…`); so is `decision`. */
  reason: string;
  /** A sentence, in English. */
  trouble?: string;
  stations: RadioStation[];
}

export interface RadioStation {
  mac: string;
  /** What would arrive if it were sent to alone, all the time. */
  arrives_mbit: number | null;
  /** What its driver says of that. */
  expected_mbit: number | null;
  power_dbm: number | null;
  decision: string | null;
  signal: number | null;
}

export interface RadioLog {
  logs: RadioSteps[];
}

export interface RadioSteps {
  device: string;
  /** Milliseconds, by the clock of the steps. */
  now_ms: number;
  /** The oldest first. */
  steps: RadioStep[];
}

export interface RadioStep {
  at_ms: number;
  power_dbm: number;
  reason: string;
  station: string | null;
  arrives_mbit: number | null;
  /** What arrived at the greatest power. */
  reference_mbit: number | null;
  /** What the station is sent to at. */
  rate_mbit: number | null;
}

export interface RadioPeers {
  /** Empty: none has peers. */
  device: string;
  peers: RadioPeer[];
  /** Sentences, in English. */
  notices: string[];
}

export interface RadioPeer {
  address: string;
  /** Its device, or what that will be called. */
  interface: string;
  /** As `STATES` in core/peers.ts has them. */
  state: string;
  /** Why it waits, where it does: "faint" or "full". */
  waits: string | null;
  /** Since when it is a peer. */
  peer_seconds: number | null;
  encrypted: boolean;
  /** It proves nothing: all that is said to it is in clear; absent where none is taken so. */
  clear?: boolean;
  signal: number | null;
  expected_mbit: number | null;
}
