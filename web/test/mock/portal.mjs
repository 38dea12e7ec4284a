// Guests and vouchers of the household. What the page asks for changes them.
import { HOSTILE, START } from "./world.mjs";

const HOUR = 3600;
const MACS = ["02:00:5e:10:00:15", "02:00:5e:10:00:11", "02:00:5e:10:00:12", "02:00:5e:10:00:13"];

/** A QR code's picture need not be one that can be read. */
const QR = { side: 29, path: "M4 4h7v7h-7zM18 4h7v7h-7zM4 18h7v7h-7zM13 13h3v3h-3zM20 20h4v1h-4z" };

function voucher(number, more) {
  return {
    id: `3f0c5d1e9a7b24${String(number).padStart(2, "0")}`,
    code: `K7QM-3X${"ABCDEFGHJK"[number % 10]}D`,
    name: `room ${number}`,
    state: "available",
    duration: 24 * HOUR,
    seconds_remaining: null,
    bytes: null,
    bytes_remaining: null,
    rate: null,
    online: false,
    devices: 1,
    until: null,
    created: START - number * HOUR,
    activated: null,
    invalidated: null,
    users: [],
    sold_by: null,
    double_use: null,
    ...more,
  };
}

/** Begins with a few of each kind. */
export function begin() {
  const hours = { mode: "vouchers", seconds: null };
  const inUse = { state: "active", activated: START - HOUR };
  return {
    hours,
    vouchers: [
      voucher(1, { ...inUse, seconds_remaining: 23 * HOUR, users: [MACS[0]], devices: 3 }),
      voucher(2, {
        ...inUse,
        name: HOSTILE.markup,
        duration: null,
        bytes: 1e9,
        bytes_remaining: 4.2e8,
        users: [MACS[1]],
      }),
      voucher(3, { former: "ZRJUXN", until: START + 90 * 24 * HOUR }),
      voucher(4, { users: [MACS[0]] }),
      voucher(5, {
        ...inUse,
        state: "expired",
        sold_by: HOSTILE.override,
        double_use: { how: "together", nodes: ["this node", HOSTILE.markup] },
      }),
    ],
    clients: [
      client(MACS[0], "admitted", 0, { seconds_remaining: 47 * HOUR, next: [3] }),
      client(MACS[1], "admitted", 1, { bytes_remaining: 4.2e8 }),
      client(MACS[2], "waiting"),
      client(MACS[3], "exempt"),
    ].map((one) => ({ ...one })),
  };
}

function client(mac, state, number, more = {}) {
  const id = (index) => voucher(index + 1).id;
  return {
    mac,
    addresses: [`192.168.1.${Number.parseInt(mac.slice(-2), 16)}`, `fe80::${mac.slice(-2)}`],
    state,
    voucher: number === undefined ? null : id(number),
    seconds_remaining: null,
    bytes_remaining: null,
    other_browser: null,
    ...more,
    next: (more.next ?? []).map(id),
  };
}

/** What is answered to a call; undefined: it is none of these. */
export function answer(portal, call, body) {
  const [, id, what] = /^(?:GET|POST) v1\/portal\/vouchers\/([^/]+)(?:\/(\w+))?$/.exec(call) ?? [];
  const found = portal.vouchers.find((one) => one.id === id);
  if (id !== undefined && found === undefined) return { status: 404 };
  switch (true) {
    case call === "GET v1/portal/clients":
      return { json: { clients: portal.clients, hours: portal.hours } };
    case call === "GET v1/portal/vouchers":
      return { json: { vouchers: portal.vouchers } };
    case call === "POST v1/portal/vouchers": {
      const made = voucher(10 + portal.vouchers.length, { ...body, created: START });
      portal.vouchers.push(made);
      return { json: { vouchers: [made] } };
    }
    case call.startsWith("GET ") && found !== undefined && what === undefined:
      return { json: { ...found, signed: "AJ3KQ".repeat(32), qr: QR } };
    case call.startsWith("POST ") && what === "rename":
      found.name = body.name;
      return { json: found };
    case call.startsWith("POST ") && what === "invalidate":
      Object.assign(found, { state: "invalidated", invalidated: START, users: [] });
      return { json: found };
    case /^POST v1\/portal\/clients\/[0-9a-f:]+\/end$/.test(call): {
      const mac = call.split("/")[3];
      const one = portal.clients.find((client) => client.mac === mac);
      if (one === undefined) return { status: 404 };
      Object.assign(one, client(mac, "waiting"));
      return { json: { clients: portal.clients, hours: portal.hours } };
    }
    default:
      return undefined;
  }
}
