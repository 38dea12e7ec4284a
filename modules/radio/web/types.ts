// The daemon's data about radios. Rates are Mbit/s, powers and signals dBm.

export interface Radios {
  /** "off", "watch" or "control". */
  mode: string;
  radios: Radio[];
}

export interface Radio {
  device: string;
  /** null: the driver does not report it. */
  power_dbm: number | null;
  max_dbm: number;
  /** null: not found yet. */
  sufficient_dbm: number | null;
  /** Keyword with a text (`reason.…`); `decision` has one too. */
  reason: string;
  /** A sentence, in English. */
  trouble?: string;
  stations: RadioStation[];
}

export interface RadioStation {
  mac: string;
  /** Throughput if the radio sent to the station alone, all the time. */
  throughput_mbit: number | null;
  /** Throughput that the driver expects. */
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
  throughput_mbit: number | null;
  /** Throughput at the greatest power. */
  reference_mbit: number | null;
  /** Rate of transmission to the station. */
  rate_mbit: number | null;
}

export interface RadioPeers {
  /** Empty: no device has peers. */
  device: string;
  peers: RadioPeer[];
  /** Sentences, in English. */
  notices: string[];
}

export interface RadioPeer {
  address: string;
  /** Name of the peer's device, now or later. */
  interface: string;
  /** A state of `STATES` in core/peers.ts. */
  state: string;
  /** Reason for waiting: "faint" or "full". */
  waits: string | null;
  /** Duration of the peering, in seconds. */
  peer_seconds: number | null;
  encrypted: boolean;
  /** True if the peer proves nothing: all traffic is in clear; absent if none is accepted so. */
  clear?: boolean;
  signal: number | null;
  expected_mbit: number | null;
}
