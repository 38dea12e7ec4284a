// Guests and vouchers of the household. Requests of the page change them.
import { HOSTILE, START } from "./world.mjs";

const HOUR = 3600;
const MACS = ["15", "11", "12", "13", "14"].map((last) => `02:00:5e:10:00:${last}`);

/** Policies of the router for a printable document, and for one in the page. */
const SHEET =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";
const PREVIEW =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'self'";

/** The QR code need not be readable. */
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
    revoked: null,
    users: [],
    sold_by: null,
    double_use: null,
    ...more,
  };
}

/** A picture of a single pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==",
  "base64",
);

/** The configured guests' page. */
const CONFIGURED = { title: "Café am Markt", text: "# Rules\n\nBe *kind*.\n" };

/** Two weeks and a gap of three days. */
function days() {
  return Array.from({ length: 17 }, (_, index) => index)
    .filter((index) => index < 5 || index > 7)
    .map((index) => ({
      day: new Date((START - (16 - index) * 24 * HOUR) * 1000).toISOString().slice(0, 10),
      guests: 3 + ((index * 7) % 19),
      log_ins: 4 + ((index * 11) % 31),
      seconds: HOUR * (5 + ((index * 13) % 60)),
      bytes: 1e9 * (2 + ((index * 5) % 40)),
      sold: (index * 3) % 12,
    }));
}

/** Escapes text for a simple page. */
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const document = (title, body) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escaped(title)}</title>` +
  `<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui;margin:1rem}main{display:grid}</style><main>${body}</main></html>`;

/** Begins with a few of each kind. */
export function begin() {
  const hours = { mode: "vouchers", seconds: null };
  const inUse = { state: "active", activated: START - HOUR };
  return {
    hours,
    page: { ...CONFIGURED, edited: false, picture: null },
    picture: PIXEL,
    previews: [],
    figures: days(),
    vouchers: [
      voucher(1, {
        ...inUse,
        seconds_remaining: 23 * HOUR,
        users: [MACS[0]],
        devices: 3,
        rate: 5e6,
        online: true,
      }),
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
      client(MACS[1], "admitted", 1, { bytes_remaining: 4.2e8, other_browser: START }),
      client(MACS[2], "waiting"),
      client(MACS[3], "exempt"),
      client(MACS[4], "admitted", undefined, {
        account: HOSTILE.markup,
        seconds_remaining: 3 * HOUR,
      }),
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
    account: null,
    seconds_remaining: null,
    bytes_remaining: null,
    other_browser: null,
    ...more,
    next: (more.next ?? []).map(id),
  };
}

/** Answers a request; undefined: not one of these. */
export function answer(portal, call, body, query) {
  const [, id, what] = /^(?:GET|POST) v1\/portal\/vouchers\/([^/]+)(?:\/(\w+))?$/.exec(call) ?? [];
  const found = portal.vouchers.find((one) => one.id === id);
  if (id !== undefined && found === undefined) return { status: 404 };
  switch (true) {
    case call === "GET v1/portal/clients":
      return { json: { clients: portal.clients, hours: portal.hours } };
    case call === "GET v1/portal/vouchers":
      return { json: { vouchers: portal.vouchers } };
    case call === "POST v1/portal/vouchers": {
      const { count, ...more } = body;
      const made = Array.from({ length: count }, (_, index) =>
        voucher(10 + portal.vouchers.length + index, { ...more, created: START }),
      );
      portal.vouchers.push(...made);
      return { json: { vouchers: made } };
    }
    case call === "GET v1/portal/sheet": {
      const ids = query.vouchers?.split(",") ?? [];
      const chosen = portal.vouchers.filter(({ id }) => ids.includes(id));
      const items = chosen.map(({ code }) => `<p class="code">${escaped(code)}</p>`);
      return { html: document(portal.page.title, items.join("")), policy: SHEET };
    }
    case call === "GET v1/portal/figures":
      return { json: { days: portal.figures } };
    case call === "GET v1/portal/page":
      return { json: portal.page };
    case call === "POST v1/portal/page/text":
      Object.assign(portal.page, body, { edited: true });
      return { json: portal.page };
    case call === "POST v1/portal/page/text/reset":
      Object.assign(portal.page, CONFIGURED, { edited: false });
      return { json: portal.page };
    case call === "POST v1/portal/page/picture":
      portal.picture = Buffer.from(body.picture, "base64");
      if (!portal.picture.subarray(1, 4).equals(Buffer.from("PNG"))) return { status: 400 };
      portal.page.picture = {
        media: "image/png",
        width: 1,
        height: 1,
        bytes: portal.picture.length,
        version: portal.previews.length + 1,
      };
      return { json: portal.page };
    case call === "POST v1/portal/page/picture/remove":
      portal.page.picture = null;
      return { json: portal.page };
    case call === "GET v1/portal/page/picture":
      return { bytes: portal.picture, type: "image/png" };
    case call === "POST v1/portal/page/preview":
      portal.previews.push(body);
      return { json: { number: portal.previews.length } };
    case call.startsWith("GET v1/portal/page/preview/"): {
      const { title, text } = portal.previews[Number(call.split("/").at(-1)) - 1];
      const body = `<h1>${escaped(title)}</h1><pre>${escaped(text)}</pre>`;
      return { html: document(title, body), policy: PREVIEW };
    }
    case call.startsWith("GET ") && found !== undefined && what === undefined:
      return { json: { ...found, signed: "AJ3KQ".repeat(32), qr: QR } };
    case call.startsWith("POST ") && what === "rename":
      found.name = body.name;
      return { json: found };
    case call.startsWith("POST ") && what === "revoke":
      Object.assign(found, { state: "revoked", revoked: START, users: [] });
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
