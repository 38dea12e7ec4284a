// Data of nearly every view: devices, ports and the daemon's state, polled every two seconds while
// a user is logged in and the page is visible; and the rates of the last minutes, which outlive a
// change of view.

import { USUAL } from "../core/poll";
import { Recorder, rateBetween } from "../core/series";
import { Store } from "../core/store";
import { type Failure, get } from "./client";
import { Poller } from "./poller";
import type { Conditions, Devices, MeteredPort, Status } from "./types";

export interface Live {
  devices: Devices | null;
  status: Status | null;
  /** Conditions that need attention, even if the monitor is off. */
  conditions: Conditions | null;
  /**
   * Packets since the previous poll: forwarded by weir, and all. null until there are two polls.
   */
  packets: { forwarded: number; all: number; byteRate: number | null } | null;
  failure: Failure | null;
}

/** Requests of a module with every poll, beside those of this file. */
export interface Looks {
  /** Throws if its request fails; the poll then fails too. `now` is the router's clock. */
  readonly look: (status: Status, now: number) => Promise<void>;
  /** Discards the data. */
  readonly forget: () => void;
}

const NOTHING: Live = {
  devices: null,
  status: null,
  conditions: null,
  packets: null,
  failure: null,
};

export const live = new Store<Live>(NOTHING);

/**
 * Series: `port NAME`, `device MAC`, and those of modules. Down is traffic to stations behind the
 * router, also at an uplink.
 */
export let recorded = new Recorder();

let poller: Poller | null = null;

/** Rate of a port from the users' perspective: at an uplink, incoming traffic is the download. */
export function portRate(port: MeteredPort): { down: number; up: number } {
  return port.uplink
    ? { down: port.rate.sent, up: port.rate.received }
    : { down: port.rate.received, up: port.rate.sent };
}

function packetsOf(status: Status): { forwarded: number; all: number } {
  const forwarded = status.packets.forwarded_xdp + status.packets.forwarded_tc;
  const passed = Object.values(status.packets.passed).reduce((sum, count) => sum + count, 0);
  return { forwarded, all: forwarded + passed };
}

function packetsBetween(before: Status | null, after: Status): Live["packets"] {
  // Counters restart with the daemon.
  if (before === null || before.started !== after.started) return null;
  const [from, to] = [packetsOf(before), packetsOf(after)];
  const forwarded = to.forwarded - from.forwarded;
  const all = to.all - from.all;
  // The daemon reports whole seconds: too coarse for an interval of two, so the page's own clock
  // serves.
  const now = performance.now() / 1000;
  const byteRate = rateBetween(before.packets.bytes, after.packets.bytes, now - looked);
  return forwarded < 0 || all < forwarded ? null : { forwarded, all, byteRate };
}

let looked = 0;

async function look(others: readonly Looks[]): Promise<void> {
  const found = get<Conditions>("conditions").then((conditions) => {
    live.set({ ...live.get(), conditions });
    return conditions;
  });
  const [devices, status, conditions] = await Promise.all([
    get<Devices>("devices"),
    get<Status>("status"),
    found,
  ]);
  await Promise.all(others.map((other) => other.look(status, devices.now)));
  const before = live.get();
  for (const port of devices.ports)
    recorded.add(`port ${port.name}`, { time: devices.now, ...portRate(port) });
  for (const device of devices.devices) {
    const { received, sent } = device.rate;
    recorded.add(`device ${device.mac}`, { time: devices.now, down: received, up: sent });
  }
  const packets = packetsBetween(before.status, status);
  looked = performance.now() / 1000;
  live.set({ devices, status, conditions, packets, failure: null });
}

/** Starts or stops polling. At the end of a session all data is discarded. */
export function keepLooking(on: boolean, others: readonly Looks[]): void {
  if (on && poller === null) {
    poller = new Poller(
      USUAL,
      () => look(others),
      (failure) => live.set({ ...live.get(), failure }),
    );
  } else if (!on && poller !== null) {
    poller.stop();
    poller = null;
    live.set(NOTHING);
    recorded = new Recorder();
    for (const other of others) other.forget();
  }
}
