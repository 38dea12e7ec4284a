// The page of weir-nearby: words, pieces of a stream, and many events at once.
import assert from "node:assert/strict";
import test from "node:test";
import { Bell } from "./core/bell";
import { Lines } from "./core/lines";
import type { Message } from "./core/types";
import {
  ago,
  bars,
  fate,
  formatWords,
  keys,
  linkWords,
  readable,
  saidWords,
  signalWords,
  waitWords,
  when,
} from "./core/words";
import { languageOf, says } from "./text";

const say = says("en");
const message: Message = {
  peer: null,
  format: null,
  sender: "ab597ba8806c0443",
  text: "Hello",
  time: 0,
  own: true,
  number: 1,
  to: 3,
  done: 0,
  failed: 0,
};

test("a signal has bars and words", () => {
  const all = [null, -120, -86, -85, -76, -75, -61, -60, 0, 20];
  assert.deepEqual(all.map(bars), [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]);
  assert.equal(signalWords(-61, say), "Good, \u221261\u00a0dBm");
  assert.equal(signalWords(4, say), "Strong, 4\u00a0dBm");
  assert.equal(signalWords(null, say), "unknown");
});

test("what there is between this one and a peer, and what waits", () => {
  const peer = { id: "x", formats: ["v1"], linked: [], signal: null, last_seen: 0, waiting: 0 };
  assert.equal(linkWords(peer, say), "not connected");
  assert.equal(linkWords({ ...peer, linked: ["v1", "v2"] }, say), "by v1, v2");
  assert.deepEqual(
    [0, 1, 2].map((count) => waitWords(count, say)),
    ["nothing", "1 message", "2 messages"],
  );
  assert.equal(formatWords("v2", say), "v2 (Android)");
  assert.equal(formatWords("ip\u202e", say), "ip\ufffd");
});

test("to how many a message got", () => {
  const told = (to: number, done: number, failed: number) =>
    fate({ ...message, to, done, failed }, say);
  assert.equal(told(3, 2, 0), "Reached 2 of 3");
  assert.equal(told(3, 2, 1), "Reached 2 of 3, not 1");
  assert.equal(told(0, 0, 0), "No peer was nearby.");
});

test("to whom something was said, also where it waits", () => {
  const said = (peers: number, waiting: number) => saidWords({ peers, waiting }, say);
  assert.equal(said(0, 0), "No peer is nearby to receive it.");
  assert.equal(said(0, 2), "No peer is nearby. Waiting for peers that are away: 2.");
  assert.equal(said(1, 0), "Sent to one peer.");
  assert.equal(said(3, 1), "Sent to 3 peers. Waiting for peers that are away: 1.");
});

test("times, whatever a stranger's clock says", () => {
  const now = new Date(2026, 10, 27, 12, 0).getTime();
  assert.equal(when(now - 60_000, now, "en-GB", say), "11:59");
  assert.match(when(now - 86_400_000, now, "en-GB", say), /26 Nov 2026.*12:00/);
  for (const time of [Number.NaN, 1.8e19, Number.POSITIVE_INFINITY])
    assert.equal(when(time, now, "en-GB", say), "at an unknown time");
  assert.equal(ago(1_000, 6_400, "en-GB"), "5 sec ago");
  assert.equal(ago(9_000, 1_000, "en-GB"), "now", "clocks differ");
  assert.equal(ago(0, 150_000, "en-GB"), "3 min ago");
});

test("what strangers write keeps its lines, and turns nothing", () => {
  assert.equal(readable("a\r\nb\rc\nd\te"), "a\nb\nc\nd e");
  assert.equal(readable("a\u202eb\u0000c\u2028d"), "a\ufffdb\ufffdc\ufffdd");
  assert.equal(readable("<b>&amp;"), "<b>&amp;");
  assert.ok(readable("x".repeat(1 << 20)).length <= 65_537);
});

test("each message has a name of its own that stays", () => {
  const heard = { ...message, own: false, number: null };
  const all = [heard, message, heard, { ...message, number: 2 }];
  const names = keys(all);
  assert.equal(new Set(names).size, 4);
  assert.deepEqual(keys(all.slice(0, 2)), names.slice(0, 2));
  assert.deepEqual(keys([{ ...message, done: 2 }]), keys([message]));
});

test("a stream is cut anywhere, and has what is no event", () => {
  const text =
    '\n{"event":"near","peer":"ü"}\nnoise\n[]\nnull\n7\n{"other":1}\n{"event":"own"}\n{"ev';
  for (const size of [1, 2, 7, 1000]) {
    const lines = new Lines();
    const events = [];
    for (let at = 0; at < text.length; at += size)
      events.push(...lines.push(text.slice(at, at + size)));
    assert.deepEqual(events, [{ event: "near", peer: "ü" }, { event: "own" }], `${size}`);
  }
  const lines = new Lines();
  for (let piece = 0; piece < 40; piece += 1) lines.push("x".repeat(1 << 16));
  assert.deepEqual(lines.push('\n{"event":"gone"}\n'), [{ event: "gone" }]);
});

test("many rings are one run, and one more at the end", async () => {
  const ends: (() => void)[] = [];
  let runs = 0;
  const bell = new Bell(() => {
    runs += 1;
    return new Promise<void>((done) => ends.push(done));
  }, 0);
  for (let ring = 0; ring < 9; ring += 1) bell.ring();
  assert.equal(runs, 1);
  const settle = () => new Promise((done) => setTimeout(done, 20));
  ends.pop()?.();
  await settle();
  assert.equal(runs, 2);
  ends.pop()?.();
  await settle();
  assert.equal(runs, 2);
  bell.ring();
  assert.equal(runs, 3);
});

test("languages", () => {
  assert.deepEqual(["de", "de-AT", "en", "deu", undefined].map(languageOf), [
    "de",
    "de",
    "en",
    "en",
    "en",
  ]);
  assert.equal(says("de")("at", { done: "2", to: "3" }), "Bei 2 von 3 angekommen");
});
