// Logic of the radios' view.
import assert from "node:assert/strict";
import test from "node:test";
import { isOpen, order, STATES, WAITS, waiting } from "./core/peers";
import { highest, lines, nearest, points, SPAN } from "./core/steps";
import { en } from "./text/en";
import type { RadioPeer, RadioStep } from "./types";

const step = (at_ms: number, more: Partial<RadioStep> = {}): RadioStep => ({
  at_ms,
  power_dbm: 20,
  reason: "trial",
  station: null,
  throughput_mbit: null,
  reference_mbit: null,
  rate_mbit: null,
  ...more,
});
const log = (now_ms: number, steps: RadioStep[]) => ({ device: "wlan0", now_ms, steps });

test("steps stand where they were, and none beyond what is drawn", () => {
  const all = points(log(200_000, [step(1000), step(190_000), step(200_000), step(200_500)]));
  assert.deepEqual(
    all.map(({ ago }) => ago),
    // The first step began before; the last came after the router read its clock.
    [SPAN, 10, 0, 0],
  );
  assert.deepEqual(points(log(0, [])), []);
});

test("steps of one moment are told apart", () => {
  const keys = points(log(9, [step(7), step(7), step(8)])).map(({ key }) => key);
  assert.equal(new Set(keys).size, 3);
  assert.deepEqual(
    points(log(10, [step(7), step(7), step(8)])).map(({ key }) => key),
    keys,
  );
});

test("what was not looked for has a mark", () => {
  const marked = (reason: string) => points(log(9, [step(7, { reason })]))[0]?.telling;
  for (const reason of ["newcomer", "silent", "edge", "wall", "lost", "worse"])
    assert.equal(marked(reason), true, reason);
  for (const reason of ["idle", "reference", "trial", "kept", "return", "constructor"])
    assert.equal(marked(reason), false, reason);
});

test("the nearest step is read, of equal ones the last", () => {
  const all = points(log(100_000, [step(10_000), step(50_000), step(50_000), step(99_000)]));
  assert.equal(nearest(all, 120), 0);
  assert.equal(nearest(all, 49), 2);
  assert.equal(nearest(all, -3), 3);
  assert.equal(nearest([], 1), null);
});

test("powers are one line, or one for each station where each has its own", () => {
  const linesOf = (...stations: (string | null)[]) =>
    lines(
      points(
        log(
          9,
          stations.map((station, at) => step(at, { station })),
        ),
      ),
    ).map((line) => line.map(({ at_ms }) => at_ms));
  assert.deepEqual(linesOf("a", null, "b"), [[0, 1, 2]]);
  assert.deepEqual(linesOf("a", "b", "a"), [[0, 2], [1]]);
  assert.deepEqual(linesOf(), []);
});

test("a scale has everything in it that was told", () => {
  assert.equal(highest([null, 3, 21.5, null]), 21.5);
  assert.equal(highest([null, -4]), 0);
  assert.equal(highest([]), 0);
});

const peer = (state: string, encrypted = false): RadioPeer => ({
  address: "02:00:5e:40:00:01",
  interface: "peer-0",
  state,
  waits: null,
  peer_seconds: null,
  encrypted,
  clear: false,
  signal: null,
  expected_mbit: null,
});

test("a peer without a key is open once anything goes over it, and never before", () => {
  for (const state of STATES) assert.equal(isOpen(peer(state, true)), false, state);
  for (const state of ["seen", "waiting", "handshake"])
    assert.equal(isOpen(peer(state)), null, state);
  // A peer that proves nothing never gets a key.
  for (const state of STATES) assert.equal(isOpen({ ...peer(state), clear: true }), true, state);
  // A peer in an unknown state is not safer.
  for (const state of ["installed", "alive", "constructor", "new"])
    assert.equal(isOpen(peer(state)), true, state);
});

test("why one waits is told with it, where it is known", () => {
  assert.equal(waiting({ ...peer("waiting"), waits: "faint" }), "faint");
  assert.equal(waiting({ ...peer("waiting"), waits: "constructor" }), null);
  assert.equal(waiting(peer("waiting")), null);
  assert.equal(waiting({ ...peer("alive"), waits: "full" }), null);
  for (const why of WAITS) assert.ok(Object.hasOwn(en, `waits.${why}`), why);
});

test("peers that came farthest are first, and unknown ones last", () => {
  const states = ["new", "seen", "alive", "waiting"].map((state) => peer(state));
  states.sort((a, b) => order(a) - order(b));
  assert.deepEqual(
    states.map(({ state }) => state),
    ["alive", "waiting", "seen", "new"],
  );
});

test("every reason and state that the router tells has words", () => {
  const reasons =
    "begin idle newcomer silent edge wall reference trial kept lost worse return".split(" ");
  for (const reason of reasons) assert.ok(Object.hasOwn(en, `reason.${reason}`), reason);
  for (const state of STATES) assert.ok(Object.hasOwn(en, `state.${state}`), state);
});
