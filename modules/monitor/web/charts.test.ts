import assert from "node:assert/strict";
import test from "node:test";
import type { Device } from "@/api/types";
import { scale } from "@/core/scale";
import { BARS, bars, span, stack, startOf, sums, UNITS } from "./core/periods";
import { layOut, outline, RIBBONS, type Stream } from "./core/picture";
import { hopName, namesOf, streams } from "./core/streams";
import type { Flow, Period } from "./types";

const count = (bytes: number) => ({ bytes, packets: 1 });
const period = (start: number, end: number, ...parts: [string, number][]): Period => ({
  start,
  end,
  received: count(parts.reduce((sum, [, bytes]) => sum + bytes, 0)),
  sent: count(0),
  lan: { received: count(0), sent: count(0) },
  parts: parts.map(([key, bytes]) => ({
    key,
    received: count(bytes),
    sent: count(0),
    lan: { received: count(3 * bytes), sent: count(0) },
  })),
});

test("a span has its number of bars in every unit, and ends with the present one", () => {
  const now = Date.UTC(2026, 2, 31, 22, 30) / 1000;
  for (const unit of UNITS) {
    for (const offset of [-600, 0, 120, 345]) {
      const { from, to } = span(unit, now, offset, 0);
      const row = bars(unit, from, to, offset, []);
      assert.equal(row.length, BARS[unit], `${unit} ${offset}`);
      assert.ok(from < now && now < to);
      assert.ok((row.at(-1)?.start ?? 0) <= now && now < (row.at(-1)?.end ?? 0));
      assert.equal(span(unit, now, offset, 1).to, from);
    }
  }
  // In a zone two hours east of UTC April has begun.
  assert.equal(startOf("month", now, 120), Date.UTC(2026, 2, 31, 22) / 1000);
});

test("a day with another offset falls into its own bar", () => {
  const offset = 120;
  const day = (date: number, hour: number) => Date.UTC(2026, 2, date, hour) / 1000;
  // 28 March began at 23:00 UTC: winter time. The bars are drawn in summer time.
  const winter = period(day(27, 23), day(28, 23), ["a", 5]);
  const row = bars("day", day(26, 22), day(30, 22), offset, [winter]);
  assert.deepEqual(
    row.map((bar) => bar.period?.parts[0]?.key ?? null),
    [null, "a", null, null],
  );
  assert.equal(row[1]?.start, winter.start);
});

test("parts are summed over periods, largest first; what has no colour is the rest", () => {
  const periods = [period(0, 1, ["a", 10], ["b", 30]), period(1, 2, ["a", 50], ["c", 1])];
  const all = sums(periods);
  assert.deepEqual(
    all.map((part) => [part.key, part.received.bytes, part.lan.received.bytes]),
    [
      ["a", 60, 180],
      ["b", 30, 90],
      ["c", 1, 3],
    ],
  );
  assert.equal(periods[0]?.parts[0]?.received.bytes, 10, "the answer itself is not changed");
  assert.deepEqual(stack(periods[0] ?? null, ["a"]), [10, 30]);
  assert.deepEqual(stack(null, ["a", "b"]), [0, 0, 0]);
});

test("scales are round, and hold the highest bar", () => {
  for (const highest of [1, 7, 42, 99, 100, 101, 3.7e11, 9.99e12]) {
    const { top, steps } = scale(highest);
    assert.ok(top >= highest && top <= highest * 2, String(highest));
    assert.ok(steps.length >= 3 && steps.length <= 6, String(highest));
    assert.equal(steps.at(-1), top);
  }
  assert.deepEqual(scale(0), { top: 1, steps: [0] });
  assert.deepEqual(scale(Number.NaN), { top: 1, steps: [0] });
});

const stream = (id: string, port: string, hop: string, rate: number): Stream => ({
  id,
  label: id,
  port,
  hop,
  rate,
  flows: 1,
});

test("ribbons fill their blocks exactly, and do not overlap at either end", () => {
  const given: Stream[] = [];
  for (let index = 0; index < 60; index += 1)
    given.push(stream(`s${index}`, `p${index % 3}`, `h${index % 5}`, index * 1000));
  const picture = layOut(given, 400);
  assert.ok(picture.ribbons.length > RIBBONS && picture.ribbons.length <= RIBBONS + 15);
  const total = picture.ribbons.reduce((sum, ribbon) => sum + ribbon.stream.flows, 0);
  assert.equal(total, 60, "no flow is lost in what is added up");
  for (const [blocks, side, edge] of [
    [picture.ports, "port", "from"],
    [picture.hops, "hop", "to"],
  ] as const) {
    for (const block of blocks) {
      const own = picture.ribbons
        .filter((ribbon) => ribbon.stream[side] === block.key)
        .sort((a, b) => a[edge] - b[edge]);
      let y = block.y;
      for (const ribbon of own) {
        assert.ok(Math.abs(ribbon[edge] - y) < 1e-6);
        y += ribbon.width;
      }
      assert.ok(Math.abs(y - block.y - block.height) < 1e-6);
      assert.ok(y < picture.height);
    }
  }
});

test("a picture of nothing, and of flows at rest", () => {
  assert.equal(layOut([], 400).ribbons.length, 0);
  const still = layOut([stream("a", "p", "h", 0)], 400);
  assert.ok((still.ribbons[0]?.width ?? 0) > 0);
  const ribbon = still.ribbons[0];
  assert.ok(ribbon !== undefined && !/NaN|undefined/.test(outline(ribbon, 0, 100)));
});

const flow = (id: string, bytes: number, proven = true): Flow => ({
  id,
  protocol: "tcp",
  original: {
    source: "192.168.1.20",
    source_port: 4000,
    destination: "2001:db8::1",
    destination_port: 443,
  },
  reply: {
    source: "2001:db8::1",
    source_port: 443,
    destination: "198.51.100.2",
    destination_port: 4000,
  },
  state: "forwarded",
  directions: {
    original: { packets: 1, bytes, proven, port_in: "lan", hop: 3 },
    reply: { packets: 1, bytes: 0, proven: false },
  },
  age_seconds: 1,
});

test("streams are the proven directions, at their rate between two readings", () => {
  const device = {
    uplink: false,
    name: "laptop",
    addresses: ["192.168.1.20"],
    mac: "02:00:00:00:00:01",
  } as Device;
  const names = namesOf([device]);
  const before = { time: 10, list: { matched: 1, flows: [flow("a", 1000)] } };
  const after = {
    time: 12,
    list: { matched: 3, flows: [flow("a", 3000), flow("new", 500), flow("lost", 500, false)] },
  };
  assert.deepEqual(
    streams(before, after, names).map(({ id, label, port, hop, rate }) => [
      id,
      label,
      port,
      hop,
      rate,
    ]),
    [
      ["a original", "laptop → [2001:db8::1]:443", "lan", "3", 8000],
      ["new original", "laptop → [2001:db8::1]:443", "lan", "3", 0],
    ],
  );
  const hop = { index: 3, device: "lan", destination: device.mac, flows: 1, xdp: true };
  assert.deepEqual(hopName("3", [hop], [device]), { name: "laptop", device: "lan" });
  assert.deepEqual(hopName("4", [hop], [device]), { name: "#4", device: "" });
});
