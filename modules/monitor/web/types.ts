// The daemon's data about conversations, the history, and forwarded flows.
import type { Count, Latency, Rate } from "@/api/types";

/** Labels of a device after a change. */
export interface DeviceLabelled {
  mac: string;
  name: string | null;
  owner: string | null;
  icon: string | null;
  configured: string[];
}

export interface Conversations {
  total: number;
  conversations: Conversation[];
}

export interface Conversation {
  id: number | string;
  port: string;
  vlan?: number;
  mac: string;
  device?: string;
  protocol_number: number;
  protocol?: string;
  station: string;
  station_port: number;
  remote: string;
  remote_port: number;
  remote_name?: string;
  application?: string;
  translated?: string;
  behind?: string;
  outside?: boolean;
  lan?: boolean;
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
  /** Internet traffic; `lan` has the other traffic. */
  received: Count;
  sent: Count;
  lan: { received: Count; sent: Count };
  parts: Part[];
}

export interface Part {
  key: string;
  name?: string;
  received: Count;
  sent: Count;
  lan: { received: Count; sent: Count };
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
  bytes: number;
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
