import assert from "node:assert/strict";
import test from "node:test";
import { matches, ordered } from "@/core/order";
import { nameOf, plain } from "@/core/plain";
import { next, polling, USUAL } from "@/core/poll";
import { formatRoute, parseRoute } from "@/core/route";
import {
  append,
  columns,
  LONGEST,
  Recorder,
  rateBetween,
  type Sample,
  SERIES,
} from "@/core/series";
import { inOrder, viewOf } from "@/module";
import * as all from "@/modules";

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
