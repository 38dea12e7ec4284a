// What deserves a look, from what the daemon tells: pure.
import type { Device, Devices, Status } from "../../../api/types";
import { nameOf } from "../../../core/plain";

export type Alert =
  | { kind: "quota"; state: "warned" | "exceeded" | "cut"; device: Device; name: string }
  | { kind: "bloat"; device: Device; name: string }
  | { kind: "unplaced"; port: string; packets: number }
  | { kind: "unarmed" | "heartbeat" | "shadow" };

/**
 * Packets without a record are told of from this share of a port's packets on: a few are nothing to
 * act on.
 */
const UNPLACED_SHARE = 0.001;

/** The gravest first. Nothing is said of forwarding where the daemon only counts. */
export function alerts(devices: Devices, status: Status | null): Alert[] {
  const found: Alert[] = [];
  const forwards = status?.modules.includes("offload") === true;
  if (status !== null && status.heartbeat.age_seconds > status.heartbeat.limit_seconds)
    found.push({ kind: "heartbeat" });
  for (const state of ["cut", "exceeded", "warned"] as const) {
    for (const device of devices.devices) {
      if (device.quota?.state === state)
        found.push({ kind: "quota", state, device, name: nameOf(device) });
    }
  }
  for (const device of devices.devices) {
    if (device.latency?.bufferbloat === "bad")
      found.push({ kind: "bloat", device, name: nameOf(device) });
  }
  for (const port of devices.ports) {
    const packets = port.incoming.unplaced.packets + port.outgoing.unplaced.packets;
    const placed = port.incoming.talks.packets + port.outgoing.talks.packets;
    if (packets > (packets + placed) * UNPLACED_SHARE)
      found.push({ kind: "unplaced", port: port.name, packets });
  }
  if (forwards && status.armed === false) found.push({ kind: "unarmed" });
  else if (forwards && status.mode === "shadow") found.push({ kind: "shadow" });
  return found;
}

/** Whether an alert is a failure rather than a hint. */
export const grave = (alert: Alert): boolean =>
  alert.kind === "heartbeat" || (alert.kind === "quota" && alert.state !== "warned");
