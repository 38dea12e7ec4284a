// From two readings of the flow table to the streams of the picture: pure.
import type { Device } from "@/api/types";
import { nameOf, plain } from "@/core/plain";
import { rateBetween } from "@/core/series";
import type { Direction, Flow, FlowList, Hop } from "../types";
import type { Stream } from "./picture";

/** A reading of the flow table: its time, by a monotonic clock, in seconds. */
export interface Reading {
  time: number;
  list: FlowList;
}

const DIRECTIONS = ["original", "reply"] as const;

function end(address: string, port: number, names: ReadonlyMap<string, string>): string {
  const name = names.get(address);
  if (name !== undefined) return name;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Label such as `laptop → 203.0.113.9:443`. A reply is seen from the answering side. */
function labelOf(
  flow: Flow,
  way: "original" | "reply",
  names: ReadonlyMap<string, string>,
): string {
  const { original } = flow;
  const client = end(original.source, original.source_port, names);
  const server = end(original.destination, original.destination_port, names);
  return way === "original" ? `${client} → ${server}` : `${server} → ${client}`;
}

/** Names of stations by address. */
export function namesOf(devices: readonly Device[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const device of devices) {
    if (device.uplink || device.name === null) continue;
    for (const address of device.addresses) names.set(address, nameOf(device));
  }
  return names;
}

/**
 * Every proven direction of a flow that weir forwards, by its rate since the previous reading.
 * Without a previous reading, rates are 0.
 */
export function streams(
  before: Reading | null,
  after: Reading,
  names: ReadonlyMap<string, string>,
): Stream[] {
  const earlier = new Map(before?.list.flows.map((flow) => [flow.id, flow]));
  const found: Stream[] = [];
  for (const flow of after.list.flows) {
    for (const way of DIRECTIONS) {
      const direction: Direction = flow.directions[way];
      if (!direction.proven || direction.port_in === undefined || direction.hop === undefined)
        continue;
      const bytes = earlier.get(flow.id)?.directions[way].bytes;
      const rate =
        before === null || bytes === undefined
          ? null
          : rateBetween(bytes, direction.bytes, after.time - before.time);
      found.push({
        id: `${flow.id} ${way}`,
        label: labelOf(flow, way, names),
        port: plain(direction.port_in),
        hop: String(direction.hop),
        rate: rate ?? 0,
        flows: 1,
      });
    }
  }
  return found;
}

/**
 * Name of a hop: the station behind it, or else its hardware address, or its number; and its
 * device.
 */
export function hopName(
  key: string,
  hops: readonly Hop[],
  devices: readonly Device[],
): { name: string; device: string } {
  const hop = hops.find((candidate) => String(candidate.index) === key);
  if (hop === undefined) return { name: `#${key}`, device: "" };
  const station = devices.find((device) => device.mac === hop.destination);
  const name = station === undefined ? (hop.destination ?? `#${key}`) : nameOf(station);
  return { name: plain(name), device: plain(hop.device) };
}
