import assert from "node:assert/strict";
import test from "node:test";
import { needsAttention, placeOf } from "./core/conditions";
import { fromInside } from "./core/inside";
import { isFinishedQuery } from "./core/queries";
import type { Conversation } from "./types";

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
  const conversation: Conversation = {
    id: 1,
    port: "wan",
    mac: "02:00:00:00:00:09",
    device: "modem",
    outside: true,
    protocol_number: 6,
    protocol: "tcp",
    station: "203.0.113.1",
    station_port: 443,
    remote: "198.51.100.2",
    remote_port: 30_000,
    received: count(1),
    sent: count(2),
    rate: { received: 3, sent: 4 },
    first_seen: 0,
    last_seen: 0,
    latency: { lan: 20, retransmissions: 1 },
  };
  const own = fromInside(conversation, "router");
  assert.deepEqual(
    [
      own.device,
      own.station,
      own.remote,
      own.remote_port,
      own.received.bytes,
      own.rate.sent,
      own.mac,
    ],
    ["router", "198.51.100.2", "203.0.113.1", 443, 2, 3, ""],
  );
  assert.deepEqual(own.latency, { wan: 20, retransmissions: 1 });
  const behind = fromInside({ ...conversation, behind: "[2001:db8::5]:4000" }, "router");
  assert.deepEqual(
    [behind.device, behind.station, behind.station_port],
    [undefined, "2001:db8::5", 4000],
  );
  assert.equal(fromInside({ ...conversation, behind: "nonsense" }, "router").station, "nonsense");
  const inside = { ...conversation, outside: false };
  assert.equal(fromInside(inside, "router"), inside);
});

test("finished queries are folded, and nothing that moves", () => {
  const conversation = (application: string | undefined, received: number, sent: number) =>
    isFinishedQuery({
      rate: { received, sent },
      ...(application !== undefined && { application }),
    });
  assert.equal(conversation("dns", 0, 0), true);
  assert.equal(conversation("dns", 0, 8), false);
  assert.equal(conversation("dns", 8, 0), false);
  assert.equal(conversation("web", 0, 0), false);
  assert.equal(conversation(undefined, 0, 0), false);
});
