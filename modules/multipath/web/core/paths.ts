// Uplinks that are used as one: converts the router's data to display form. Pure.

import { rateBetween, type Sample } from "@/core/series";
import type { Path } from "../types";

/** An uplink with all of its addresses. */
export interface Uplink {
  device: string;
  addresses: string[];
  gateways: string[];
  subflows: number;
  fell_back: number;
  /** True if a device on the path of one of its addresses removes MPTCP. */
  strips: boolean;
  /** Reason why the uplink does not, or would not, carry traffic; null: no reason. */
  note: Note | null;
  /** Microseconds; null while nothing moves. */
  rtt: number | null;
  sent: number;
  received: number;
  retransmitted: number;
  /** Bytes by the tunnel, in both directions. */
  tunnel: number;
}

/**
 * The partner does not answer by the uplink in the tunnel; never used; no TCP for a while, as the
 * uplink slowed others down; waiting until others fail; used for lack of others.
 */
export type Note =
  | "silent"
  | "never"
  | "rests"
  | "reserve"
  | "metered"
  | "backup"
  | "metered-used"
  | "backup-used";

function noteOf(path: Path): Note | null {
  if (path.answers === false && path.use !== "never") return "silent";
  if (path.rests === true) return "rests";
  switch (path.use) {
    case "never":
      return "never";
    case "metered":
    case "backup":
      return path.in_use === true ? `${path.use}-used` : path.use;
    default:
      return path.backup ? "reserve" : null;
  }
}

const EXPOSURES = [
  "tcp",
  "tcp-ipv6",
  "others",
  "others-ipv6",
  "chosen",
  "tls-names",
  "clear",
] as const;

/** Traffic that others than the partner may see; of a newer router, only known kinds. */
export type Exposure = (typeof EXPOSURES)[number];

export function exposures(told: readonly string[] = []): Exposure[] {
  return EXPOSURES.filter((exposure) => told.includes(exposure));
}

/** Uplinks, an entry for each device, in the reported order. */
export function uplinks(paths: readonly Path[]): Uplink[] {
  const found = new Map<string, Uplink>();
  for (const path of paths) {
    const before = found.get(path.device);
    const rtts = [before?.rtt, path.rtt].filter((rtt) => rtt != null);
    found.set(path.device, {
      device: path.device,
      addresses: [...(before?.addresses ?? []), path.address],
      gateways: [
        ...(before?.gateways ?? []),
        ...(path.gateway === undefined ? [] : [path.gateway]),
      ],
      subflows: (before?.subflows ?? 0) + path.subflows,
      fell_back: (before?.fell_back ?? 0) + path.fell_back,
      strips: (before?.strips ?? false) || path.strips === true,
      // If one address has no note, the other decides; a note of only one of two addresses does not
      // apply to the uplink.
      note:
        before === undefined || before.subflows === 0
          ? noteOf(path)
          : before.note !== null && (path.subflows === 0 || noteOf(path) !== null)
            ? before.note
            : null,
      rtt: rtts.length === 0 ? null : Math.min(...rtts),
      sent: (before?.sent ?? 0) + path.sent,
      received: (before?.received ?? 0) + path.received,
      retransmitted: (before?.retransmitted ?? 0) + path.retransmitted,
      tunnel: (before?.tunnel ?? 0) + (path.tunnel_sent ?? 0) + (path.tunnel_received ?? 0),
    });
  }
  return [...found.values()];
}

/** Counters of paths, by a monotonic clock, in seconds. */
export interface PathsReading {
  time: number;
  paths: readonly Path[];
}

/**
 * The router samples once a second, the page polls every two: over this many polls, the phase of
 * the router's samples does not show.
 */
const LOOKS = 3;

/** Longest pause between readings, in seconds; a later reading restarts the rates. */
const GAP = 15;

/**
 * Rates of each uplink, bits per second, over the last few readings; and the readings to keep. Down
 * is traffic from the partner.
 */
export function pathRates(
  readings: readonly PathsReading[],
  now: PathsReading,
): { readings: PathsReading[]; rates: Map<string, { down: number; up: number }> } {
  const last = readings.at(-1);
  const kept = last === undefined || now.time - last.time > GAP ? [] : readings.slice(-LOOKS);
  const rates = new Map<string, { down: number; up: number }>();
  for (const uplink of uplinks(now.paths)) {
    // An uplink that came back counts from then on.
    const before = kept
      .map(({ time, paths }) => ({
        time,
        uplink: uplinks(paths).find(({ device }) => device === uplink.device),
      }))
      .find(
        ({ uplink: then }) =>
          then !== undefined && then.sent <= uplink.sent && then.received <= uplink.received,
      );
    if (before?.uplink === undefined) continue;
    const seconds = now.time - before.time;
    const down = rateBetween(before.uplink.received, uplink.received, seconds);
    const up = rateBetween(before.uplink.sent, uplink.sent, seconds);
    if (down !== null && up !== null) rates.set(uplink.device, { down, up });
  }
  return { readings: [...kept, now], rates };
}

/**
 * Stacked layers: times, and for each series the sum of it and of those below. Gaps stay empty.
 */
export function layers(
  series: readonly (readonly Sample[])[],
  way: "down" | "up",
): [number[], ...(number | null)[][]] {
  const values = new Map<number, number[]>();
  for (const [index, samples] of series.entries()) {
    for (const sample of samples) {
      const at = values.get(sample.time) ?? series.map(() => 0);
      at[index] = sample[way];
      values.set(sample.time, at);
    }
  }
  const times: number[] = [];
  const sums: (number | null)[][] = series.map(() => []);
  for (const time of [...values.keys()].sort((a, b) => a - b)) {
    const before = times.at(-1);
    if (before !== undefined && time - before > GAP) {
      times.push(before + 1);
      for (const sum of sums) sum.push(null);
    }
    times.push(time);
    let below = 0;
    for (const [index, sum] of sums.entries()) {
      below += values.get(time)?.[index] ?? 0;
      sum.push(below);
    }
  }
  return [times, ...sums];
}

/** Thickness of single layers at a point, from the sums. */
export function thickness(data: readonly (readonly (number | null)[])[], at: number): number[] {
  return data
    .slice(1)
    .map((sums, index) => (sums[at] ?? 0) - (index === 0 ? 0 : (data[index]?.[at] ?? 0)));
}
