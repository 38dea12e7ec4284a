// What the view of ports works out.
import assert from "node:assert/strict";
import test from "node:test";
import {
  CHOICES,
  chosen,
  follow,
  heard,
  likely,
  ROLES,
  type Settled,
  shown,
  suggested,
  sure,
} from "../../src/modules/cables/core/ports";
import { ICONS } from "../../src/modules/cables/icons";
import type { Cable } from "../../src/modules/cables/types";

const cable = (device: string, more: Partial<Cable> = {}): Cable => ({
  device,
  link: true,
  role: "client",
  confidence: 70,
  evidence: [],
  decided: 3000,
  held_by: null,
  now: "lan",
  why: "",
  would_change: "",
  notices: [],
  ...more,
});
const NONE = { link: false, role: "unknown", confidence: 0, decided: null };
const LISTENING = { role: "unknown", confidence: 0, decided: null };

test("a port is shown as what it is, or that nobody knows yet", () => {
  assert.equal(shown(cable("a")), "client");
  assert.equal(shown(cable("a", NONE)), "none");
  assert.equal(shown(cable("a", LISTENING)), "listening");
  // Somebody's choice holds without a cable; the administrator's own port while it is listened.
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
    return found.changes.map(({ device, now }) => `${device} ${now}`);
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
