// Logic of the ports' view.

import assert from "node:assert/strict";
import test from "node:test";
import { fill } from "@/text";
import { grown, type Log, NOTHING, reason, SHOWN, said } from "./core/events";
import {
  CHOICES,
  chosen,
  follow,
  heard,
  likely,
  moving,
  ROLES,
  type Settled,
  shown,
  shut,
  suggested,
  sure,
} from "./core/ports";
import { templates, translated, type Words } from "./core/said";
import { ICONS } from "./icons";
import type { Cable, CableEvent } from "./types";

const cable = (device: string, more: Partial<Cable> = {}): Cable => ({
  device,
  link: true,
  role: "client",
  confidence: 70,
  evidence: [],
  decided: 3000,
  held_by: null,
  now: "lan",
  shut: false,
  moving: null,
  why: "",
  change_condition: "",
  notices: [],
  ...more,
});
const NONE = { link: false, role: "unknown", confidence: 0, decided: null };
const LISTENING = { role: "unknown", confidence: 0, decided: null };

test("a port is shown as what it is, or that nobody knows yet", () => {
  assert.equal(shown(cable("a")), "client");
  assert.equal(shown(cable("a", NONE)), "none");
  assert.equal(shown(cable("a", LISTENING)), "listening");
  // A fixed role holds without a cable; the administrator's own port, while listening.
  const held = { held_by: "administrator", role: "uplink" };
  assert.equal(shown(cable("a", { ...NONE, ...held })), "uplink");
  const own = { held_by: "connection", role: "client" };
  assert.equal(shown(cable("a", { ...LISTENING, ...own })), "client");
  for (const role of ["king", "constructor", "", "listening", "none"])
    assert.equal(shown(cable("a", { role })), "unknown", role);
  for (const role of ROLES) assert.equal(shown(cable("a", { role })), role);
  assert.deepEqual(Object.keys(ICONS), [...ROLES, "listening", "none"]);
});

test("nothing is sure of a port of which nothing is known", () => {
  assert.equal(sure(cable("a")), 0.7);
  assert.equal(sure(cable("a", NONE)), null);
  assert.equal(sure(cable("a", LISTENING)), null);
  assert.equal(sure(cable("a", { held_by: "administrator", confidence: 100 })), null);
  assert.equal(sure(cable("a", { role: "unknown", confidence: 0 })), 0);
});

test("what somebody may choose is suggested, and nothing else", () => {
  for (const role of ROLES) {
    const choice = CHOICES.find((one) => one === role) ?? null;
    assert.equal(suggested(cable("a", { role })), choice, role);
    assert.equal(likely(cable("a", { role })), choice ?? "client", role);
  }
  assert.equal(suggested(cable("a", NONE)), null);
  assert.equal(suggested(cable("a", LISTENING)), null);
  const held = cable("a", { held_by: "administrator", role: "mesh" });
  assert.equal(suggested(held), null);
  assert.equal(likely(held), "mesh");
});

test("the first is shown where none was chosen; one that is gone is no other", () => {
  const all = [cable("lan1"), cable("lan2")];
  assert.equal(chosen(all, undefined)?.device, "lan1");
  assert.equal(chosen(all, "lan2")?.device, "lan2");
  assert.equal(chosen(all, "usb0"), null);
  assert.equal(chosen([], undefined), null);
});

test("what was heard is in order, with the link and the decision", () => {
  const evidence = [
    { kind: "arp", after: 120, text: "one" },
    { kind: "bpdu", after: 3000, text: "two" },
    { kind: "dhcp-server", after: 90_000, text: "three" },
  ];
  const told = (more: Partial<Cable>) =>
    heard(cable("a", { evidence, ...more })).map(({ after, what, text }) => [after, text ?? what]);
  assert.deepEqual(told({}), [
    [0, "link"],
    [120, "one"],
    [3000, "two"],
    [3000, "decided"],
    [90_000, "three"],
  ]);
  assert.deepEqual(told({ decided: null }).length, 4);
  assert.deepEqual(told({ decided: 0, held_by: "administrator" }).length, 4, "it was chosen");
  assert.deepEqual(told(NONE), []);
});

test("changes are told once it is known what is there", () => {
  let settled: Settled | null = null;
  const look = (...cables: Cable[]) => {
    const found = follow(settled, cables);
    settled = found.settled;
    return found.changes.map((change) =>
      "use" in change ? `${change.device} used ${change.use}` : `${change.device} ${change.what}`,
    );
  };
  assert.deepEqual(look(cable("a"), cable("b", NONE), cable("c", LISTENING)), [], "the first look");
  assert.deepEqual(look(cable("a"), cable("b", NONE), cable("c", LISTENING)), []);
  assert.deepEqual(look(cable("a"), cable("b", LISTENING), cable("c")), ["c client"]);
  assert.deepEqual(look(cable("a", LISTENING), cable("b", { role: "mesh" }), cable("c")), [
    "b mesh",
  ]);
  assert.deepEqual(look(cable("a"), cable("b", NONE), cable("c")), ["b none"], "a is what it was");
  assert.deepEqual(look(cable("a", { role: "loop" }), cable("c")), ["a loop"]);
  assert.deepEqual(look(cable("a", { role: "loop", confidence: 99 }), cable("c")), []);
  assert.deepEqual(look(cable("c"), cable("d")), [], "one that is new, and one that is gone");
});

test("a use is told of once, and not with the role that says it already", () => {
  let settled: Settled | null = null;
  const look = (...cables: Cable[]) => {
    const found = follow(settled, cables);
    settled = found.settled;
    return found.changes.map((change) => ("use" in change ? `used ${change.use}` : change.what));
  };
  const none = { now: "none" };
  assert.deepEqual(look(cable("a", { ...LISTENING, ...none })), [], "the first look");
  assert.deepEqual(look(cable("a", { role: "uplink", now: "uplink" })), ["uplink"]);
  assert.deepEqual(look(cable("a", { role: "uplink", now: "uplink" })), []);
  assert.deepEqual(look(cable("a", { role: "uplink", ...none })), ["used none"]);
  assert.deepEqual(look(cable("a", { role: "switch", now: "mesh" })), ["switch", "used mesh"]);
  assert.deepEqual(look(cable("a", { role: "switch", now: "lan" })), ["used lan"]);
  assert.deepEqual(look(cable("a", { role: "client", now: "lan" })), ["client"]);
  // The former use holds if the page does not know the word, or while listening.
  assert.deepEqual(look(cable("a", { role: "client", now: "moon" })), []);
  assert.deepEqual(look(cable("a", { role: "client", now: "lan" })), []);
  assert.deepEqual(look(cable("a", { ...LISTENING, ...none })), ["used none"]);
  assert.deepEqual(look(cable("a", { role: "client", now: "lan" })), ["used lan"]);
});

test("what is kept apart says why; where it goes is said once", () => {
  assert.equal(shut(cable("a", LISTENING)), null);
  assert.equal(shut(cable("a", { ...LISTENING, shut: true })), "listening");
  assert.equal(shut(cable("a", { role: "loop", shut: true })), "loop");
  assert.equal(shut(cable("a", { role: "uplink", shut: true })), "what");
  assert.equal(moving(cable("a")), null);
  assert.equal(moving(cable("a", { moving: "It goes." })), "It goes.");
  assert.equal(moving(cable("a", { moving: "It cannot.", notices: ["It cannot."] })), null);
});

test("the last of what happened, the newest first, is added to what is known", () => {
  const event = (number: number): CableEvent => ({
    number,
    when: 0,
    device: "a",
    kind: "link",
    value: "up",
    text: "",
  });
  const numbers = (log: Log | null) => log?.events.map(({ number }) => number);
  const first = grown(NOTHING, { last: 3, events: [event(2), event(3)] }) ?? NOTHING;
  assert.deepEqual([first.last, numbers(first)], [3, [3, 2]]);
  assert.deepEqual(grown(first, { last: 3, events: [] }), first);
  // A known event is not added twice.
  const next = grown(first, { last: 5, events: [event(3), event(4), event(5)] });
  assert.deepEqual(numbers(next), [5, 4, 3, 2]);
  const many = Array.from({ length: 99 }, (_, index) => event(index + 1));
  const last = grown(NOTHING, { last: 99, events: many });
  assert.deepEqual([last?.events.length, last?.events[0]?.number], [SHOWN, 99]);
  assert.equal(grown(first, { last: 1, events: [] }), null, "weir was started anew");
});

test("what happened is in the page's words, or else in the router's", () => {
  const event = (kind: string, value: string) => ({
    number: 1,
    when: 0,
    device: "a",
    kind,
    value,
    text: "Why.",
  });
  const told = (kind: string, value: string) => {
    const one = event(kind, value);
    return [said(one), reason(one)];
  };
  assert.deepEqual(told("link", "up"), [{ what: "link", up: true }, null]);
  assert.deepEqual(told("link", "down"), [{ what: "link", up: false }, null]);
  assert.deepEqual(told("role", "mesh"), [{ what: "role", role: "mesh" }, "Why."]);
  for (const [move, why] of [
    ["moved", null],
    ["kept", null],
    ["taken-back", "Why."],
    ["refused", "Why."],
    ["later", "Why."],
  ] as const)
    assert.deepEqual(told(move, "lan"), [{ what: "move", move, use: "lan" }, why]);
  for (const [kind, value] of [
    ["role", "king"],
    ["moved", "moon"],
    ["constructor", "lan"],
  ] as const)
    assert.deepEqual(told(kind, value), [null, "Why."]);
});

test("what the router says of a port is said in the reader's language, where it is known", () => {
  const all = templates({
    "says.there": "{who} is there",
    "says.no-offer": "{why}, and no server answers",
    "says.loop": "own frames come back",
    "says.chosen": "the administrator chose {role}; the evidence suggests {other}, as {why}",
    "view.cables": "Ports",
  });
  const texts: Record<string, string> = {
    there: "{who} ist da",
    "no-offer": "{why}, und niemand bietet an",
    loop: "eigene Rahmen kommen zurück",
    chosen: "gewählt ist {role}; zu hören ist {other}: {why}",
  };
  const words: Words = {
    say: (word, values) => fill(texts[word] ?? "", values),
    within: (text, vlan) => `${text} in VLAN ${vlan} (de)`,
    role: (word) => word.toUpperCase(),
  };
  const said = (text: string) => translated(text, all, words);
  assert.equal(
    said("02:00:00:00:00:01 in VLAN 7 is there, and no server answers."),
    "02:00:00:00:00:01 in VLAN 7 (de) ist da, und niemand bietet an.",
  );
  assert.equal(
    said("Own frames come back in VLAN 7."),
    "Eigene Rahmen kommen zurück in VLAN 7 (de).",
  );
  assert.equal(
    said("The administrator chose mesh; the evidence suggests loop, as own frames come back."),
    "Gewählt ist MESH; zu hören ist LOOP: eigene Rahmen kommen zurück.",
  );
  assert.equal(said("Own frames come back"), "Eigene Rahmen kommen zurück");
  assert.equal(said("Something new, and no server answers."), null);
  assert.equal(said(""), null);
  // Names are untrusted.
  assert.equal(said("x (.+)* {who} is there."), "X (.+)* {who} ist da.");
});
