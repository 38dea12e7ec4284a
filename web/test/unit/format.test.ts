import assert from "node:assert/strict";
import test from "node:test";
import { Format } from "@/core/format";

const en = new Format("en-GB");
const de = new Format("de-DE");
/** Spaces that keep number and unit together, as plain ones. */
const spaced = (text: string) => text.replace(/[\u00a0\u202f]/g, " ");

test("rates have three digits that count, by powers of 1000", () => {
  for (const [bits, text] of [
    [0, "0 bit/s"],
    [999, "999 bit/s"],
    [999.6, "1.00 kbit/s"],
    [1234, "1.23 kbit/s"],
    [12_345_678, "12.3 Mbit/s"],
    [999_600_000, "1.00 Gbit/s"],
    [2.5e9, "2.50 Gbit/s"],
    [5e18, "5,000,000 Tbit/s"],
  ] as const) {
    assert.equal(spaced(en.rate(bits)), text);
  }
  assert.equal(spaced(de.rate(1234)), "1,23 kbit/s");
  assert.equal(spaced(en.roundRate(25e6)), "25 Mbit/s");
});

test("what is no number is a dash, and what is below nothing is nothing", () => {
  assert.equal(en.rate(Number.NaN), "–");
  assert.equal(en.bytes(Number.POSITIVE_INFINITY), "–");
  assert.equal(spaced(en.bytes(-5)), "0 B");
  assert.equal(en.moment(Number.NaN), "–");
  assert.equal(en.moment(1e300), "–");
});

test("no share is rounded to nothing or to all", () => {
  assert.equal(spaced(en.share(0)), "0%");
  assert.equal(spaced(en.share(0.0001)), "< 1%");
  assert.equal(spaced(en.share(0.42)), "42%");
  assert.equal(spaced(en.share(0.9999)), "> 99%");
  assert.equal(spaced(en.share(1)), "100%");
  assert.equal(spaced(en.share(7)), "100%");
});

test("no wait is nothing", () => {
  for (const [wait, text] of [
    [0, "< 0.1 ms"],
    [0.049, "< 0.1 ms"],
    [0.05, "0.1 ms"],
    [9.94, "9.9 ms"],
    [23.4, "23 ms"],
  ] as const) {
    assert.equal(spaced(en.milliseconds(wait)), text);
  }
  assert.equal(spaced(de.milliseconds(0.01)), "< 0,1 ms");
  assert.equal(spaced(de.fewDigits(0.01)), "< 0,1");
});

test("power is in dBm, and its sign stays before it", () => {
  assert.equal(spaced(en.dbm(-67)), "-67 dBm");
  assert.equal(spaced(en.dbm(20)), "20 dBm");
  assert.match(new Format("ar-u-nu-latn").dbm(-67), /^\u2066.*67\u00a0dBm\u2069$/);
});

test("seconds are few, or a span", () => {
  for (const [seconds, text] of [
    [0, "< 0.1 s"],
    [0.34, "0.3 s"],
    [2.69, "2.7 s"],
    [23.4, "23 s"],
    [59.4, "59 s"],
    [59.6, "1 min"],
    [4000, "1 h 6 min"],
  ] as const) {
    assert.equal(spaced(en.seconds(seconds)), text);
  }
  assert.equal(spaced(de.seconds(0.34)), "0,3 s");
});

test("times ago and spans", () => {
  assert.equal(en.ago(0), "now");
  assert.equal(en.ago(-3), "now");
  assert.match(spaced(en.ago(3700)), /^1 (hr|h)\.? ago$/);
  assert.equal(spaced(en.span(93_784)), "1 d 2 h");
  assert.equal(spaced(en.span(3600)), "1 h");
  assert.equal(spaced(en.span(0.2)), "0 s");
});

test("periods are named in the router's zone, over a change to summer time too", () => {
  const start = Date.UTC(2026, 2, 28, 23) / 1000;
  // 29 March 2026 in Berlin has 23 hours; the router reports the offset of summer for it.
  assert.equal(de.period("day", start, start + 23 * 3600, 120, true), "29. März");
  assert.equal(
    en.period(
      "month",
      Date.UTC(2026, 0, 31, 23) / 1000,
      Date.UTC(2026, 1, 28, 23) / 1000,
      60,
      false,
    ),
    "February 2026",
  );
  assert.equal(
    en.period("hour", Date.UTC(2026, 0, 1, 5) / 1000, Date.UTC(2026, 0, 1, 6) / 1000, 60, true),
    "06:00",
  );
});

test("from right to left, a number and its unit stay together", () => {
  const ar = new Format("ar-u-nu-latn");
  assert.equal(ar.rate(36_200_000), "\u206636.2\u00a0Mbit/s\u2069");
  assert.equal(ar.span(3720), "\u20661\u00a0h 2\u00a0min\u2069");
  assert.equal(en.rate(36_200_000), "36.2\u00a0Mbit/s");
});
