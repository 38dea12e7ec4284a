// Radios of the household's router: two access points, and power steps of one of them.
import { HOSTILE } from "./world.mjs";

const NEAR = "02:00:5e:10:00:14";
const FAR = "02:00:5e:10:00:15";

/** A search of twenty seconds: ms after its start, dBm, reason, station, Mbit/s. */
const SEARCH = [
  [0, 20, "reference", null, null, null, null],
  [400, 18, "trial", null, null, null, null],
  [700, 14, "kept", NEAR, 21.2, 21.6, 54],
  [1100, 10, "kept", NEAR, 21.1, 21.6, 54],
  [1500, 12, "lost", FAR, 13.4, 19.8, 24],
  [1900, 12, "kept", FAR, 19.2, 19.8, 36],
  [6000, 10, "trial", null, null, null, null],
  [6400, 12, "lost", FAR, 14.1, 19.8, 24],
  [11_000, 20, "wall", FAR, 6.2, 19.8, 12],
  [12_200, 18, "trial", null, null, null, null],
  [12_600, 16, "kept", FAR, 12.3, 12.6, 24],
  [13_000, 14, "trial", null, null, null, null],
  [13_400, 16, "lost", FAR, 9.5, 12.6, 18],
  [18_000, 20, "newcomer", "02:00:5e:10:00:16", null, null, 6],
];
const PERIOD = 20_000;

function steps(now, seconds) {
  const from = now - Number(seconds ?? 600) * 1000;
  const all = [];
  for (let begin = Math.floor(from / PERIOD - 1) * PERIOD; begin < now; begin += PERIOD) {
    for (const [after, power_dbm, reason, station, arrives, reference, rate] of SEARCH) {
      const at_ms = begin + after;
      if (at_ms > now) continue;
      // The last step before the requested time was in force then.
      if (at_ms < from) all.length = 0;
      all.push({
        at_ms,
        power_dbm,
        reason,
        station,
        throughput_mbit: arrives,
        reference_mbit: reference,
        rate_mbit: rate,
      });
    }
  }
  return all;
}

const station = (mac, more) => ({
  mac,
  throughput_mbit: null,
  expected_mbit: null,
  power_dbm: 16,
  decision: null,
  signal: null,
  ack_signal: null,
  silent_ms: 20,
  ...more,
});

const RADIOS = [
  {
    device: "wlan0",
    power_dbm: 16,
    max_dbm: 20,
    sufficient_dbm: 16,
    reason: "kept",
    stations: [
      station(NEAR, { throughput_mbit: 21.4, expected_mbit: 22.1, decision: "kept", signal: -41 }),
      station(FAR, { throughput_mbit: 12.3, decision: "lost", signal: -74 }),
      station("02:00:5e:10:00:16", { signal: -60, decision: "newcomer" }),
      station("02:00:5e:77:00:01", { signal: -67 }),
    ],
  },
  {
    device: "<b>w\u202e1",
    power_dbm: null,
    max_dbm: 23,
    sufficient_dbm: null,
    reason: "idle",
    trouble: `power control ended: ${HOSTILE.markup}`,
    stations: [],
  },
];

const peer = (address, state, more) => ({
  address,
  interface: `peer-${address.slice(-2)}0a1b2c3d`,
  state,
  encrypted: state === "installed" || state === "alive",
  clear: false,
  signal: -58,
  expected_mbit: null,
  waits: null,
  peer_seconds: state === "alive" ? 93_800 : null,
  ...more,
});

const PEERS = [
  peer("02:00:5e:40:00:01", "alive", { expected_mbit: 31.5, signal: -49 }),
  peer("02:00:5e:40:00:02", "alive", {
    encrypted: false,
    clear: true,
    interface: "wlan0.sta1",
    signal: -63,
  }),
  peer("02:00:5e:40:00:03", "handshake"),
  peer("02:00:5e:40:00:04", "waiting", { signal: -88, waits: "faint" }),
  peer("02:00:5e:40:00:05", "waiting", { waits: "full" }),
  peer("02:00:5e:40:00:06", "seen", { signal: null }),
];

/**
 * Changeable by a test: `mode`, `off` (the module does not run), `radios`, `peering` (the device
 * with peers; empty: none), `peers`, `notices`, and `still` (no steps).
 */
export function begin() {
  return {
    mode: "control",
    off: false,
    still: false,
    radios: RADIOS,
    peering: "wlan0",
    peers: PEERS,
    notices: [`the bridge ${HOSTILE.override} has no spanning tree: one peer is taken`],
  };
}

/** Answers a request; undefined: not one of these. */
export function answer(state, call, query, now) {
  switch (call) {
    case "GET v1/radio":
      return { mode: state.mode, radios: state.mode === "off" ? [] : state.radios };
    case "GET v1/radio/log": {
      const now_ms = now * 1000 - 1_700_000_000_000;
      const logs = state.radios.map(({ device, stations }) => ({
        device,
        now_ms,
        steps: stations.length > 0 && !state.still ? steps(now_ms, query.seconds) : [],
      }));
      return { logs: state.mode === "control" ? logs : [] };
    }
    case "GET v1/radio/peers":
      return { device: state.peering, peers: state.peers, notices: state.notices };
    default:
      return undefined;
  }
}
