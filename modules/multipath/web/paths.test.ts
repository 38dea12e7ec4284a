import assert from "node:assert/strict";
import test from "node:test";
import { Recorder } from "@/core/series";
import { exposures, layers, type PathsReading, pathRates, thickness, uplinks } from "./core/paths";
import type { Path } from "./types";

const path = (device: string, address: string, more: Partial<Path> = {}): Path => ({
  device,
  address,
  subflows: 2,
  fell_back: 0,
  backup: false,
  sent: 100,
  received: 1000,
  retransmitted: 1,
  ...more,
});

test("what is seen on the way is told in one order, and nothing that has no words", () => {
  assert.deepEqual(exposures(["tls-names", "others", "of-tomorrow"]), ["others", "tls-names"]);
  assert.deepEqual(exposures(), []);
});

test("addresses of one device are one uplink", () => {
  const [first, second] = uplinks([
    path("dsl", "192.0.2.2", { gateway: "192.0.2.1", rtt: 20_000 }),
    path("lte", "198.51.100.2", { backup: true }),
    path("dsl", "2001:db8::2", { rtt: 15_000, fell_back: 1, strips: true, tunnel_sent: 5 }),
  ]);
  assert.deepEqual(first, {
    device: "dsl",
    addresses: ["192.0.2.2", "2001:db8::2"],
    gateways: ["192.0.2.1"],
    subflows: 4,
    fell_back: 1,
    strips: true,
    note: null,
    rtt: 15_000,
    sent: 200,
    received: 2000,
    retransmitted: 2,
    tunnel: 5,
  });
  assert.equal(second?.strips, false);
  assert.deepEqual([second?.device, second?.note, second?.rtt], ["lte", "reserve", null]);
  // An unused address does not affect the other one.
  const idle = path("dsl", "192.0.2.2", { subflows: 0 });
  const reserve = path("dsl", "2001:db8::2", { backup: true });
  for (const order of [
    [idle, reserve],
    [reserve, idle],
  ])
    assert.equal(uplinks(order)[0]?.note, "reserve");
  assert.equal(uplinks([reserve, path("dsl", "192.0.2.2")])[0]?.note, null);
  const said = (more: Partial<Path>) => uplinks([path("dsl", "192.0.2.2", more)])[0]?.note;
  assert.equal(said({ use: "metered", in_use: false, backup: true }), "metered");
  assert.equal(said({ use: "backup", in_use: true }), "backup-used");
  assert.equal(said({ use: "never" }), "never");
  assert.equal(said({ use: "always", in_use: true, rests: true }), "rests");
  assert.equal(said({ use: "always", rests: true, answers: false }), "silent");
  assert.equal(said({ use: "never", answers: false }), "never");
  assert.equal(said({ use: "always", answers: true }), null);
});

const reading = (time: number, sent: number, received: number, device = "dsl"): PathsReading => ({
  time,
  paths: [path(device, "192.0.2.2", { sent, received })],
});

test("rates are those of the last few looks", () => {
  let readings: PathsReading[] = [];
  const look = (now: PathsReading) => {
    const found = pathRates(readings, now);
    readings = found.readings;
    return found.rates.get("dsl");
  };
  assert.equal(look(reading(10, 0, 0)), undefined, "one look is no rate");
  assert.deepEqual(look(reading(12, 1000, 4000)), { down: 16_000, up: 4000 });
  // The router's own sample came late: the rate falls, but not to zero.
  assert.deepEqual(look(reading(14, 1000, 4000)), { down: 8000, up: 2000 });
  assert.deepEqual(look(reading(16, 3000, 12_000)), { down: 16_000, up: 4000 });
  look(reading(18, 3000, 12_000));
  assert.deepEqual(
    look(reading(20, 3000, 12_000)),
    { down: 32_000 / 3, up: 8000 / 3 },
    "of six seconds, no more",
  );
  assert.deepEqual(look(reading(22, 3000, 12_000)), { down: 0, up: 0 });
  assert.equal(readings.length, 4);
  // The counters restarted, and later there was a pause.
  assert.equal(look(reading(24, 10, 10)), undefined);
  assert.deepEqual(look(reading(26, 1010, 10)), { down: 0, up: 4000 });
  assert.equal(look(reading(60, 9999, 9999)), undefined);
  assert.equal(look(reading(62, 9999, 9999, "lte")), undefined, "another uplink");
  assert.deepEqual(look(reading(64, 10_999, 9999)), { down: 0, up: 2000 }, "one that came back");
});

test("layers lie one upon the other, with a gap where nobody looked", () => {
  const one = [
    { time: 10, down: 5, up: 1 },
    { time: 12, down: 6, up: 1 },
    { time: 40, down: 7, up: 1 },
  ];
  const other = [
    { time: 12, down: 10, up: 2 },
    { time: 40, down: 20, up: 2 },
  ];
  const data = layers([one, other], "down");
  assert.deepEqual(data, [
    [10, 12, 13, 40],
    [5, 6, null, 7],
    [5, 16, null, 27],
  ]);
  assert.deepEqual(thickness(data, 1), [6, 10]);
  assert.deepEqual(thickness(data, 3), [7, 20]);
  assert.deepEqual(layers([one, other], "up")[2], [1, 3, null, 3]);
  assert.deepEqual(layers([], "down"), [[]]);
});

test("uplinks of late are known by name", () => {
  const recorder = new Recorder();
  const sample = { down: 1, up: 1 };
  for (const [name, time] of [
    ["path wan1", 100],
    ["path wan0", 700],
    ["port wan0", 700],
    ["path lte", 99],
  ] as const)
    recorder.add(name, { time, ...sample });
  assert.deepEqual(recorder.names("path ", 100), ["wan0", "wan1"]);
});
