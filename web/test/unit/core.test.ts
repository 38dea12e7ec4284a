import assert from "node:assert/strict";
import test from "node:test";
import { matches, ordered } from "../../src/core/order";
import { nameOf, plain } from "../../src/core/plain";
import { next, polling, USUAL } from "../../src/core/poll";
import { formatRoute, parseRoute } from "../../src/core/route";
import {
  append,
  columns,
  LONGEST,
  Recorder,
  rateBetween,
  type Sample,
  SERIES,
} from "../../src/core/series";
import * as all from "../../src/modules";
import { inOrder, viewOf } from "../../src/modules/module";
import { needsAttention, placeOf } from "../../src/modules/monitor/core/conditions";
import { fromInside } from "../../src/modules/monitor/core/inside";
import { isFinishedQuery } from "../../src/modules/monitor/core/queries";
import type { Talk } from "../../src/modules/monitor/types";

test("names neither control the screen nor turn its direction, and are not endless", () => {
  assert.equal(plain("tv\u001b[31m\r\n\u0000x"), "tv\ufffd[31m\ufffd\ufffd\ufffdx");
  assert.equal(plain("photo\u202egnp.exe"), "photo\ufffdgnp.exe");
  assert.equal(plain("a\u2066b\u200fc\u{e0041}d"), "a\ufffdb\ufffdc\ufffdd");
  assert.equal(plain("Küche 🍳 مطبخ"), "Küche 🍳 مطبخ");
  assert.equal(Array.from(plain("🍳".repeat(1000))).length, 254);
  assert.equal(plain("<b>"), "<b>");
});

test("an emoji of several parts stays one, and nothing else is joined unseen", () => {
  const whole = ["👨\u200d👩\u200d👧", "🕵🏽\u200d♂\ufe0f", "❤\ufe0f\u200d🔥", "🏳\ufe0f\u200d🌈"];
  for (const emoji of whole) {
    assert.equal(plain(`a ${emoji} b`), `a ${emoji} b`);
    assert.equal(plain(`${emoji}\u200dx`), `${emoji}\ufffdx`);
    assert.equal(plain(`x\u200d${emoji}`), `x\ufffd${emoji}`);
  }
  assert.equal(plain("pay\u200dpal"), "pay\ufffdpal");
  assert.equal(plain("👨\u200d\u200d👩 👨 \u200d👩"), "👨\ufffd\ufffd👩 👨 \ufffd👩");
});

test("a device without a name that can be seen is called by its address", () => {
  const device = { name: null, addresses: ["192.0.2.7"], mac: "02:00:00:00:00:01" };
  assert.equal(nameOf(device), "192.0.2.7");
  assert.equal(nameOf({ ...device, name: "  " }), "192.0.2.7");
  assert.equal(nameOf({ ...device, addresses: [] }), "02:00:00:00:00:01");
});

test("polling waits longer after each error, not at all unseen, and at once when seen", () => {
  let state = polling(USUAL, true);
  const waits: (number | null)[] = [];
  for (const event of [
    "answered",
    "failed",
    "failed",
    "failed",
    "failed",
    "failed",
    "failed",
    "answered",
    "hidden",
    "failed",
    "shown",
  ] as const) {
    const [after, wait] = next(state, event);
    state = after;
    waits.push(wait);
  }
  assert.deepEqual(waits, [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 2000, null, null, 0]);
  assert.equal(next({ ...state, failures: 30 }, "failed")[0].failures, 30);
});

const sample = (time: number): Sample => ({ time, down: time, up: 1 });

test("a series forgets its oldest points, and begins anew when the clock is set back", () => {
  let series: Sample[] = [];
  for (let time = 0; time < 1000; time += 1) series = append(series, sample(time));
  assert.equal(series.length, LONGEST);
  assert.equal(series.at(-1)?.time, 999);
  assert.equal(append(series, { ...sample(999), down: 5 }).length, LONGEST);
  assert.deepEqual(append(series, sample(10)), [sample(10)]);
});

test("where nobody looked, no line is drawn", () => {
  const [times, down] = columns([sample(0), sample(2), sample(100), sample(102)]);
  assert.deepEqual(times, [0, 2, 3, 100, 102]);
  assert.deepEqual(down, [0, 2, null, 100, 102]);
});

test("series of devices that are gone make room", () => {
  const recorder = new Recorder();
  for (let device = 0; device < SERIES + 10; device += 1)
    recorder.add(`device ${device}`, sample(1));
  recorder.add("device 10", sample(2));
  recorder.add("device new", sample(2));
  assert.equal(recorder.get("device 9").length, 0);
  assert.equal(recorder.get("device 10").length, 2);
  assert.equal(recorder.get("device 11").length, 0);
});

test("a rate needs time, and a counter that grew", () => {
  assert.equal(rateBetween(1000, 2000, 2), 4000);
  assert.equal(rateBetween(2000, 1000, 2), null);
  assert.equal(rateBetween(1000, 2000, 0), null);
});

test("rows without a value come last, whichever way; addresses go by their numbers", () => {
  const rows = [{ a: "192.168.1.10" }, { a: undefined }, { a: "192.168.1.9" }];
  const by = (row: { a: string | undefined }) => row.a;
  assert.deepEqual(ordered(rows, by, false, "en").map(by), [
    "192.168.1.9",
    "192.168.1.10",
    undefined,
  ]);
  assert.deepEqual(ordered(rows, by, true, "en").map(by), [
    "192.168.1.10",
    "192.168.1.9",
    undefined,
  ]);
  assert.deepEqual(
    ordered([3, 1, 2], (value) => value, true, "en"),
    [3, 2, 1],
  );
  assert.ok(matches("LAP 1.20", ["anna-laptop", "192.168.1.20", null]));
  assert.ok(!matches("lap zzz", ["anna-laptop"]));
});

test("a route survives whatever stands in it", () => {
  const path = ["devices", "02:00:5e:10:00:01 / ? # % ü"];
  const query = { find: "a&b=c#d", by: "name" };
  assert.deepEqual(parseRoute(formatRoute(path, query)), {
    path,
    query: Object.assign(Object.create(null), query),
  });
  assert.deepEqual(parseRoute("#/devices/%E0%A4%A").path, ["devices", "%E0%A4%A"]);
  assert.deepEqual(parseRoute("").path, []);
  assert.deepEqual(Object.keys(parseRoute("#/x?__proto__=1").query), ["__proto__"]);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test("views have addresses of their own, and every address one view at most", () => {
  const modules = inOrder(all);
  const ids = modules.flatMap((module) => module.views.map((view) => view.id));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(new Set(modules.map((module) => module.id)).size, modules.length);
  assert.equal(new Set(modules.map((module) => module.place)).size, modules.length);
  assert.equal(viewOf(modules, [])?.title(), "Overview");
  assert.equal(viewOf(modules, ["devices", "x"])?.title(), "Devices");
  assert.equal(viewOf(modules, ["nowhere"]), undefined);
});

test("conditions lead to the view that shows more, and hints alone need no attention", () => {
  const condition = (severity: "critical" | "warning" | "hint", view: string, subject = "") => ({
    id: `x ${subject}`,
    severity,
    key: "x",
    parameters: { port: subject },
    text: "",
    since: 0,
    module: "m",
    view,
    subject,
  });
  assert.equal(needsAttention([]), false);
  assert.equal(needsAttention([condition("hint", "")]), false);
  assert.equal(needsAttention([condition("hint", ""), condition("warning", "")]), true);
  assert.equal(needsAttention([condition("critical", "")]), true);
  assert.equal(placeOf(condition("hint", "")), null);
  const mac = "02:00:5e:10:00:01";
  assert.deepEqual(placeOf(condition("hint", "devices", mac)), [["devices", mac], {}]);
  assert.deepEqual(placeOf(condition("hint", "devices", "wan0")), [["devices"], {}]);
  assert.deepEqual(placeOf(condition("hint", "cables", "lan1")), [["cables"], { port: "lan1" }]);
  assert.deepEqual(placeOf(condition("hint", "setup", "7")), [["setup"], {}]);
});

test("a conversation told from the outside is turned round, once", () => {
  const count = (bytes: number) => ({ bytes, packets: 1 });
  const talk: Talk = {
    id: 1,
    port: "wan",
    mac: "02:00:00:00:00:09",
    device: "modem",
    outside: true,
    protocol_number: 6,
    protocol: "tcp",
    station: "203.0.113.1",
    station_port: 443,
    far: "198.51.100.2",
    far_port: 30_000,
    received: count(1),
    sent: count(2),
    rate: { received: 3, sent: 4 },
    first_seen: 0,
    last_seen: 0,
    latency: { lan: 20, retransmissions: 1 },
  };
  const own = fromInside(talk, "router");
  assert.deepEqual(
    [own.device, own.station, own.far, own.far_port, own.received.bytes, own.rate.sent, own.mac],
    ["router", "198.51.100.2", "203.0.113.1", 443, 2, 3, ""],
  );
  assert.deepEqual(own.latency, { wan: 20, retransmissions: 1 });
  const behind = fromInside({ ...talk, behind: "[2001:db8::5]:4000" }, "router");
  assert.deepEqual(
    [behind.device, behind.station, behind.station_port],
    [undefined, "2001:db8::5", 4000],
  );
  assert.equal(fromInside({ ...talk, behind: "nonsense" }, "router").station, "nonsense");
  const inside = { ...talk, outside: false };
  assert.equal(fromInside(inside, "router"), inside);
});

test("finished queries are folded, and nothing that moves", () => {
  const talk = (application: string | undefined, received: number, sent: number) =>
    isFinishedQuery({
      rate: { received, sent },
      ...(application !== undefined && { application }),
    });
  assert.equal(talk("dns", 0, 0), true);
  assert.equal(talk("dns", 0, 8), false);
  assert.equal(talk("dns", 8, 0), false);
  assert.equal(talk("web", 0, 0), false);
  assert.equal(talk(undefined, 0, 0), false);
});
