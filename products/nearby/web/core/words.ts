// Figures as words: pure.

import { plain } from "@/core/plain";
import type { Say } from "../text";
import type { Answer, Message, Peer } from "./types";

/** Longest shown message, in characters; the program accepts no longer ones for itself. */
const LONGEST = 65_536;

/** Number of bars of a signal, of four: zero if unknown. */
export function bars(signal: number | null): number {
  if (signal === null) return 0;
  // A receiver of Bluetooth LE hears down to some -95 dBm.
  return 1 + [-85, -75, -60].filter((least) => signal >= least).length;
}

/** `strong, −61 dBm` */
export function signalWords(signal: number | null, say: Say): string {
  const names = ["unheard", "faint", "weak", "good", "strong"] as const;
  const name = say(names[bars(signal)] ?? "unheard");
  if (signal === null) return name;
  return `${name}, ${signal < 0 ? "\u2212" : ""}${Math.abs(signal)}\u00a0dBm`;
}

export function formatWords(format: string, say: Say): string {
  if (format === "v1") return say("v1");
  if (format === "v2") return say("v2");
  return plain(format);
}

/** Describes the links between this node and a peer. */
export function linkWords(peer: Peer, say: Say): string {
  const by = peer.linked.map((format) => plain(format)).join(", ");
  return by === "" ? say("notLinked") : say("linked", { by });
}

export function waitWords(waiting: number, say: Say): string {
  if (waiting === 0) return say("waitsNone");
  return waiting === 1 ? say("waitsOne") : say("waits", { count: String(waiting) });
}

/** Age, by one clock. */
export function ago(then: number, now: number, language: string): string {
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  const words = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  return seconds < 60
    ? words.format(-seconds, "second")
    : words.format(-Math.round(seconds / 60), "minute");
}

/** Outcome of an own message. */
export function fate(message: Message, say: Say): string {
  const { to, done, failed } = message;
  if (to === 0) return say("heardByNobody");
  const counts = { done: String(done), to: String(to), failed: String(failed) };
  return failed === 0 ? say("at", counts) : say("atFailed", counts);
}

/** Recipients of a message: those near, and the number of absent ones for whom it waits. */
export function saidWords({ peers, waiting }: Answer, say: Say): string {
  const waits = { count: String(waiting) };
  if (peers === 0 && waiting > 0) return say("saidLater", waits);
  const key = peers === 0 ? "saidToNobody" : peers === 1 ? "saidToOne" : "saidTo";
  const said = say(key, { count: String(peers) });
  return waiting === 0 ? said : `${said} ${say("saidWaits", waits)}`;
}

/** Time by the sender's untrusted clock, with the date if it is another day. */
export function when(time: number, now: number, language: string, say: Say): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return say("noTime");
  const same = date.toDateString() === new Date(now).toDateString();
  const clock = { hour: "2-digit", minute: "2-digit" } as const;
  return same
    ? date.toLocaleTimeString(language, clock)
    : date.toLocaleString(language, { ...clock, year: "numeric", month: "short", day: "numeric" });
}

/** A message for display: keeps its lines, without characters that turn or hide text around it. */
export function readable(text: string): string {
  const lines = text.slice(0, LONGEST).replace(/\r\n?/g, "\n").split("\n");
  return lines.map((line) => plain(line.replace(/\t/g, " "), LONGEST)).join("\n");
}

/** A key for each message that stays while others come and go. */
export function keys(messages: readonly Message[]): string[] {
  const seen = new Map<string, number>();
  return messages.map((message) => {
    const { number, sender, time, text } = message;
    const name = number === null ? `${sender} ${time} ${text}` : `own ${number}`;
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return before === 0 ? name : `${name} ${before}`;
  });
}
