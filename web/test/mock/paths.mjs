// Uplinks of the household that are used as one: a fast one, one that loses MPTCP now and then, and
// one in reserve. Pure.
import { noise, PARTNER, START } from "./world.mjs";

/** Down and up, bits a second. */
const UPLINKS = [
  ["ppp0", "198.51.100.2", "198.51.100.1", 58e6, 9.4e6, 23_400],
  ["wwan0", "203.0.113.77", undefined, 31e6, 6.2e6, 41_900],
  ["usb0", "192.0.2.130", "192.0.2.129", 0, 0, undefined],
];

/**
 * `speed` as for the status. Byte counters are sums of varying rates: the page derives the rates
 * again.
 */
export function paths(now, speed) {
  const carried = (rate, seed) => {
    const past = (now - START) / speed;
    const swings = 0.16 * 23 * (1 - Math.cos((past + noise(seed) * 60) / 23));
    return Math.round((rate / 8) * (1000 + past + swings));
  };
  const path = ([device, address, gateway, down, up, rtt]) => ({
    device,
    address,
    ...(gateway === undefined ? {} : { gateway }),
    subflows: 41,
    fell_back: device === "wwan0" ? 2 : 0,
    strips: device === "wwan0",
    backup: device === "usb0",
    use: device === "usb0" ? "metered" : "always",
    in_use: device !== "usb0",
    rests: false,
    ...(rtt === undefined
      ? {}
      : { rtt: rtt + Math.round(4000 * noise(device, Math.floor(now / 3))) }),
    sent: carried(up, `${device}u`),
    received: carried(down, device),
    retransmitted: { ppp0: 240_000, wwan0: 9_100_000, usb0: 0 }[device],
    tunnel_sent: carried(up / 9, `${device}t`),
    tunnel_received: carried(down / 9, `${device}t`),
  });
  const all = UPLINKS.map(path);
  all.splice(1, 0, {
    ...all[0],
    address: "2001:db8:7::2",
    gateway: "fe80::1",
    sent: 1e6,
    received: 2e6,
    subflows: 3,
  });
  const sum = (way) => all.reduce((bytes, one) => bytes + one[way], 0);
  return {
    partner: PARTNER,
    partners: [
      { partner: PARTNER, in_use: true, reached: true },
      {
        partner: "standby.example:9349",
        in_use: false,
        reached: false,
        problem: "the partner does not answer within 4 s",
      },
      { partner: "third.example:443", in_use: false },
    ],
    state: "connected",
    version: "0.9.0-mock",
    redirects: true,
    tunnel: true,
    locked: false,
    stops: false,
    exposed: ["others-ipv6", "tls-names"],
    connections: {
      open: 41,
      all: 18_204,
      direct: 12,
      clear: 16_902,
      refused: 0,
      sent: sum("sent"),
      received: sum("received"),
    },
    paths: all,
    forwards: [
      { ports: "tcp/8022", to: "192.168.1.2:22", granted: true },
      { ports: "udp/51820", to: "192.168.1.9:51820", granted: false },
    ],
    twins: [{ device: "usb1", address: "192.0.2.130", of: "usb0" }],
  };
}
