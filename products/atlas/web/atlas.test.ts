// The atlas's component: addresses, time spans, answers, and sanitizing of pictures.
import assert from "node:assert/strict";
import test from "node:test";
import { Address, snippets } from "./core/address";
import { attributeAllowed, elementAllowed, linkAllowed } from "./core/allowed";
import { nearest, points, whole } from "./core/table";
import {
  begin,
  grain,
  hourOf,
  months,
  parameters,
  scaled,
  snapped,
  told,
  written,
} from "./core/time";
import { languageOf, says } from "./text";

const read = (text: string) => Address.read(text, "https://a.example/x/");
const hour = (text: string) => hourOf(text) ?? Number.NaN;

test("an address is the state, whatever it is the address of", () => {
  for (const path of ["chart/growth", "embed/growth", "chart/growth.svg", "chart/growth.json"]) {
    const address = read(`/${path}?from=2019-01&width=400`);
    assert.equal(address?.page(), "https://a.example/chart/growth?from=2019-01");
  }
  assert.equal(read("chart/top")?.root, "https://a.example/x");
  assert.equal(
    read("https://b.example/atlas/chart/top?n=5")?.embed(),
    "https://b.example/atlas/embed/top?n=5",
  );
  for (const wrong of [
    "",
    "javascript:/chart/growth",
    "data:text/html,/chart/growth",
    "/chart/../x",
    "/chart/",
    "/chart/Growth",
    "https://[/chart/growth",
  ])
    assert.equal(read(wrong), undefined, wrong);
});

test("parameters are changed, and files named", () => {
  const address = read("/chart/community?key=a%26b%2Bc&from=2019-01");
  assert.equal(address?.query.get("key"), "a&b+c");
  const other = address?.with({ from: "", to: "2020", by: undefined });
  assert.equal(other?.page(), "https://a.example/chart/community?key=a%26b%2Bc&to=2020");
  assert.equal(
    other?.file("svg", { width: "400" }),
    "https://a.example/chart/community.svg?key=a%26b%2Bc&to=2020&width=400",
  );
  assert.equal(other?.stem(), "community-2020-a-b-c");
  assert.ok(address?.same(read("/embed/community?key=a%26b%2Bc&from=2019-01")));
  assert.ok(!address?.same(other));
  assert.equal(address?.chart("growth").page(), "https://a.example/chart/growth");
  assert.equal(read("/chart/routing?only=olsr,babel")?.page().split("?")[1], "only=olsr,babel");
});

test("an address without an end goes on with time", () => {
  for (const [query, goesOn] of [
    ["", true],
    ["?from=2015", true],
    ["?at=&to=", true],
    ["?at=2019-10", false],
    ["?from=2015&to=2019", false],
  ] as const)
    assert.equal(read(`/chart/top${query}`)?.goesOn, goesOn, query);
});

test("snippets hold whatever stands in an address or title", () => {
  const address = read('/chart/community?key="><script>&lang=de');
  assert.ok(address);
  const all = Object.values(snippets(address, 'A "><script><b>&'));
  for (const snippet of all) {
    assert.ok(!/"><script>|<b>/.test(snippet.replace(/^<script.*\n/, "")), snippet);
    assert.match(snippet, /&amp;lang=de/);
  }
  assert.match(all[0] ?? "", /^<script type="module" src="https:\/\/a.example\/weir-chart.js">/);
});

test("hours, and how addresses write them", () => {
  assert.equal(hourOf("1970-01-02T03:00:00Z"), 27);
  for (const wrong of [null, 5, "", "soon", "2019-99-99T00:00:00Z"])
    assert.equal(hourOf(wrong), undefined);
  const at = hour("2019-10-17T22:00:00Z");
  assert.equal(written(at, "month"), "2019-10");
  assert.equal(written(at, "day"), "2019-10-17");
  assert.equal(written(at, "hour"), "2019-10-17T22");
  assert.equal(begin(at, "month"), hour("2019-10-01T00:00:00Z"));
  assert.equal(begin(at, "month", 3), hour("2020-01-01T00:00:00Z"));
  assert.equal(begin(at, "day", 1), hour("2019-10-18T00:00:00Z"));
  assert.equal(told(at, "month", "en"), "October 2019");
  assert.equal(told(at, "month", "de"), "Oktober 2019");
  assert.match(told(at, "hour", "en"), /17 Oct 2019.* 22:00 UTC/);
});

test("a range is the whole months, days or hours that it touches", () => {
  const range = (from: string, to: string) => ({ from: hour(from), to: hour(to) });
  const of = (from: string, to: string) => parameters(range(from, to));
  assert.deepEqual(of("2014-03-17T00:00:00Z", "2019-10-05T00:00:00Z"), {
    from: "2014-03",
    to: "2019-10",
  });
  assert.deepEqual(of("2019-01-01T00:00:00Z", "2022-01-01T00:00:00Z"), {
    from: "2019-01",
    to: "2021-12",
  });
  assert.deepEqual(of("2019-01-01T05:00:00Z", "2019-03-01T05:00:00Z"), {
    from: "2019-01-01",
    to: "2019-03-01",
  });
  assert.deepEqual(of("2019-01-01T05:00:00Z", "2019-01-01T07:00:00Z"), {
    from: "2019-01-01T05",
    to: "2019-01-01T06",
  });
  const one = hour("2019-01-01T05:00:00Z");
  assert.deepEqual(parameters({ from: one + 0.4, to: one + 0.4 }), {
    from: "2019-01-01T05",
    to: "2019-01-01T05",
  });
  assert.deepEqual([grain(24 * 365 * 13), grain(24 * 90), grain(24)], ["month", "day", "hour"]);
  const { from, to } = snapped({ from: one, to: one + 1 });
  assert.deepEqual([from, to], [one, one + 1]);
});

test("zooming keeps what is under the pointer, within the record, down to an hour", () => {
  const all = { from: 0, to: 1000 };
  assert.deepEqual(scaled(all, 0.5, 250, all), { from: 125, to: 625 });
  assert.deepEqual(scaled({ from: 0, to: 100 }, 2, 0, all), { from: 0, to: 200 });
  assert.deepEqual(scaled({ from: 900, to: 1000 }, 4, 950, all), { from: 600, to: 1000 });
  assert.equal(scaled({ from: 100, to: 700 }, 2, 400, all), undefined);
  const least = scaled({ from: 10, to: 12 }, 0.001, 11, all);
  assert.equal((least?.to ?? 0) - (least?.from ?? 0), 1);
  // Thirteen years become an hour by no more than a gesture.
  let range = { from: hour("2013-07-01T00:00:00Z"), to: hour("2026-09-01T00:00:00Z") };
  const record = range;
  let steps = 0;
  for (; range.to - range.from > 1; steps += 1)
    range = scaled(range, Math.exp(-60 / 150), hour("2019-10-17T22:30:00Z"), record) ?? range;
  assert.ok(steps < 40);
  assert.deepEqual(parameters(range), { from: "2019-10-17T22", to: "2019-10-17T22" });
});

test("months of a record", () => {
  const record = { from: hour("2019-11-05T00:00:00Z"), to: hour("2020-02-01T00:00:00Z") };
  assert.deepEqual(months(record), ["2019-11", "2019-12", "2020-01"]);
  assert.equal(months({ from: 0, to: Number.MAX_SAFE_INTEGER / 4e6 }).length, 1200);
});

test("rows of one time are its lines", () => {
  const wide = points({
    columns: [{ key: "live", title: "Live" }],
    notes: ["x"],
    series: [
      { t: "2019-02-01T00:00:00Z", live: 5, stale: null },
      { t: "2019-01-01T00:00:00Z", live: 4, stale: 1 },
    ],
  });
  assert.deepEqual(wide, [
    {
      hour: hour("2019-01-01T00:00:00Z"),
      heads: [],
      lines: [
        { key: "live", name: "Live", values: [4] },
        { key: "stale", name: "stale", values: [1] },
      ],
    },
    {
      hour: hour("2019-02-01T00:00:00Z"),
      heads: [],
      lines: [
        { key: "live", name: "Live", values: [5] },
        { key: "stale", name: "stale", values: [null] },
      ],
    },
  ]);
  const long = points({
    series: [
      { t: "2019-01-01T00:00:00Z", protocol: "olsr", nodes: 7, communities: 2 },
      { t: "2019-01-01T00:00:00Z", protocol: "babel", nodes: 3, communities: 1 },
    ],
  });
  assert.equal(long.length, 1);
  assert.deepEqual(long[0]?.lines, [
    { key: "olsr", name: "olsr", values: [7, 2] },
    { key: "babel", name: "babel", values: [3, 1] },
  ]);
  assert.deepEqual(long[0]?.heads, ["nodes", "communities"]);
  for (const wrong of [null, 5, [], {}, { series: [null, 5, {}, { t: 1 }] }, { series: "x" }])
    assert.deepEqual(points(wrong), []);
});

test("the nearest of ascending places", () => {
  assert.equal(nearest([0, 10, 20], 14), 1);
  assert.equal(nearest([0, 10, 20], 16), 2);
  assert.equal(nearest([0, 10, 20], -5), 0);
  assert.equal(nearest([0, 10, 20], 500), 2);
  assert.equal(nearest([7], 500), 0);
  assert.equal(nearest([], 3), 0);
});

test("the record as a whole", () => {
  const [from, to] = ["2013-07-01T00:00:00Z", "2026-09-01T00:00:00Z"];
  assert.deepEqual(whole({ from, to }), { from: hour(from), to: hour(to) });
  for (const wrong of [null, {}, { from: to, to: from }, { from: 1, to: 2 }])
    assert.equal(whole(wrong), undefined);
});

test("of a picture from elsewhere nothing comes in that runs, loads or is not known", () => {
  for (const element of ["script", "foreignObject", "image", "use", "animate", "set", "iframe"])
    assert.ok(!elementAllowed(element), element);
  for (const element of ["path", "a", "pattern", "tspan"]) assert.ok(elementAllowed(element));
  for (const [name, value] of [
    ["onclick", "x()"],
    ["onload", "x()"],
    ["style", "fill:red"],
    ["href", "/x"],
    ["fill", "url(https://x.example/y)"],
    ["fill", "url( 'data:image/svg+xml,x#y')"],
    ["fill", "u\\72l(https://x.example)"],
    ["filter", "url(//x.example#f)"],
    ["xmlns:x", "y"],
  ] as const)
    assert.ok(!attributeAllowed("path", name, value), `${name}=${value}`);
  for (const [name, value] of [
    ["fill", "url(#hatch)"],
    ["fill", 'url("#hatch")'],
    ["d", "M0 0h4"],
    ["data-key", "a:b"],
    ["aria-label", "Show"],
    ["pointer-events", "all"],
  ] as const)
    assert.ok(attributeAllowed("path", name, value), `${name}=${value}`);
  for (const link of ["javascript:x()", " java\nscript:x()", "data:text/html,x", "vbscript:x"])
    assert.ok(!linkAllowed(link), link);
  for (const link of ["/chart/top", "?only=a:b", "https://x.example/", "#a", "chart/x:y"])
    assert.ok(linkAllowed(link), link);
});

test("German where German is asked for", () => {
  assert.equal(languageOf("de-AT"), "de");
  assert.equal(languageOf("den"), "en");
  assert.equal(languageOf(null), "en");
  assert.equal(says("de")("shows", { from: "a", to: "b" }), "a bis b");
  assert.equal(says("en")("shows", { from: "a" }), "a to ");
});
