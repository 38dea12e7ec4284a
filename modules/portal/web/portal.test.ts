// Logic of the portal's views.
import assert from "node:assert/strict";
import test from "node:test";
import { BARS, bars, startOf, top } from "./core/days";
import { asked, USUAL_SALE, wrong } from "./core/sale";
import { printable, sheetOf } from "./core/sheet";
import { base64, octets } from "./core/welcome";
import type { PortalDay, PortalVoucher } from "./types";

const day = (name: string, guests: number): PortalDay => ({
  day: name,
  guests,
  log_ins: 0,
  seconds: 0,
  bytes: 0,
  sold: 0,
});

test("days have bars, also those on which nothing was counted", () => {
  assert.deepEqual(bars([]), []);
  const row = bars([day("2026-02-27", 3), day("2026-03-02", 5), day("2025-01-01", 9)]);
  assert.equal(row.length, BARS);
  assert.deepEqual(
    row.slice(-4).map(({ day }) => day?.guests ?? null),
    [3, null, null, 5],
  );
  assert.equal(row.at(-1)?.start, startOf("2026-03-02"));
});

test("the chart is as high as its highest bar, and a little", () => {
  for (const [highest, expected] of [
    [0, 4],
    [4, 4],
    [21, 25],
    [100, 100],
    [101, 150],
    [9_999, 10_000],
  ] as const) {
    assert.equal(top(highest), expected, `${highest}`);
  }
});

test("several are sold at once, within bounds", () => {
  assert.equal(asked({ ...USUAL_SALE, count: "10" }).count, 10);
  assert.equal(asked(USUAL_SALE).count, 1);
  assert.equal(asked({ ...USUAL_SALE, megabits: "5" }).rate, 5_000_000);
  assert.equal(asked(USUAL_SALE).rate, null);
  assert.equal(wrong({ ...USUAL_SALE, megabits: "0.5" }), "megabits");
  // An unlimited voucher needs no clock.
  assert.equal(asked({ ...USUAL_SALE, counts: "online" }).online, true);
  assert.equal(asked({ ...USUAL_SALE, counts: "online", time: "0" }).online, false);
  for (const count of ["0", "201", "", "x"]) assert.equal(wrong({ ...USUAL_SALE, count }), "count");
});

test("a sheet has what somebody can still use", () => {
  const sold = ["available", "active", "available"].map(
    (state, index) => ({ id: `id${index}`, state }) as PortalVoucher,
  );
  assert.equal(sheetOf(printable(sold), "de"), "/api/v1/portal/sheet?vouchers=id0,id2&language=de");
});

test("text and pictures are counted and sent as bytes", () => {
  assert.equal(octets("Café"), 5);
  assert.equal(base64(new Uint8Array([0x89, 0x50, 0xff, 0])), "iVD/AA==");
});
