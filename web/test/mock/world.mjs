// Simulated household of the mock server: plausible, moving with the given time, and with names as
// hostile as a network can make them. Pure: the same time gives the same answers.

export const HOSTILE = {
  markup: '<img src=x onerror="document.title=`owned`">',
  script: "</script><script>window.owned=1</script>",
  control: "tv\u0007\u001b[31mred\u0000\r\nsecond line",
  override: "photo\u202egnp.exe",
  long: "a-very-long-name-that-somebody-gave-to-a-device-and-that-has-no-place-to-break-".repeat(5),
};

const DEVICES = [
  ["02:00:5e:10:00:11", "anna-laptop", "lease", "br-lan", 62e6, 4.1e6, "steady"],
  ["02:00:5e:10:00:12", "Wohnzimmer-TV", "mdns", "br-lan", 24e6, 0.4e6, "bursts"],
  ["02:00:5e:10:00:13", "nas", "hosts", "br-lan", 1.2e6, 17e6, "steady"],
  ["02:00:5e:10:00:14", "bens-phone", "lease", "wlan0", 8e6, 0.9e6, "bursts"],
  ["02:00:5e:10:00:15", HOSTILE.markup, "mdns", "wlan0", 3.1e6, 0.3e6, "bursts"],
  ["02:00:5e:10:00:16", HOSTILE.control, "mdns", "wlan0", 1.9e6, 0.2e6, "bursts"],
  ["02:00:5e:10:00:17", HOSTILE.override, "mdns", "br-lan", 0.6e6, 0.1e6, "steady"],
  ["02:00:5e:10:00:18", HOSTILE.long, "mdns", "br-lan", 0.3e6, 0.05e6, "steady"],
  ["02:00:5e:10:00:19", HOSTILE.script, "lease", "br-lan", 0, 0, "still"],
  ["02:00:5e:10:00:1a", null, null, "br-iot", 0.02e6, 0.01e6, "bursts"],
  ["02:00:5e:10:00:1b", "printer", "mdns", "br-iot", 0, 0, "still"],
  ["02:00:5e:10:00:1c", "heat-pump", "configuration", "br-iot", 0.004e6, 0.009e6, "bursts"],
];
const VENDORS = ["Samsung Electronics", "Espressif", "Hewlett Packard"];
const LABELS = {
  "02:00:5e:10:00:11": { owner: "Anna", icon: "laptop" },
  "02:00:5e:10:00:12": { icon: "tv" },
  "02:00:5e:10:00:13": { icon: "server" },
  "02:00:5e:10:00:14": { owner: "Ben", icon: "phone" },
  "02:00:5e:10:00:16": { owner: HOSTILE.override },
  "02:00:5e:10:00:1b": { icon: "printer" },
  "02:00:5e:10:00:1c": { icon: "appliance" },
};
const GATEWAY = "02:00:5e:20:00:01";

const FAR = [
  ["video.example.net", "203.0.113.10", 443, "video", 17, "udp", 0.62],
  ["www.example.org", "203.0.113.80", 443, "web", 6, "tcp", 0.21],
  ["backup.example.com", "198.51.100.7", 443, "backup", 6, "tcp", 0.12],
  [HOSTILE.markup, "198.51.100.99", 8443, "web", 6, "tcp", 0.03],
  [undefined, "2001:db8:5::9", 443, "web", 6, "tcp", 0.012],
  [undefined, "192.0.2.53", 53, "dns", 17, "udp", 0.005],
  [undefined, "192.0.2.1", 0, "other", 1, undefined, 0.003],
];

/** A number between 0 and 1 that depends on its arguments only. */
export function noise(...seed) {
  let hash = 2166136261;
  for (const part of seed) {
    for (const char of String(part)) hash = Math.imul(hash ^ char.charCodeAt(0), 16777619);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 2246822519);
  hash ^= hash >>> 13;
  return (hash >>> 0) / 4294967296;
}

/** Factor of a rate: around one, slowly changing, with a little noise. */
function swing(kind, seed, now) {
  if (kind === "still") return 0;
  const phase = noise(seed) * 60;
  const slow = 0.75 + 0.3 * Math.sin((now + phase) / 23) + 0.12 * Math.sin((now + phase) / 5.3);
  const bursty = Math.sin((now + phase) / 11) > 0.2 ? 1.2 : 0.12;
  return Math.max(
    0,
    slow * (kind === "bursts" ? bursty : 1) * (0.92 + 0.16 * noise(seed, Math.floor(now / 2))),
  );
}

const counts = (bytes) => ({ bytes: Math.round(bytes), packets: Math.ceil(bytes / 980) });

export const START = 1_767_000_000;
export const PARTNER = "partner.example.net:9349";

/** `given`: labels by users, by hardware address. */
export function devices(now, given = {}) {
  const since = now - 93_600;
  const own = DEVICES.map(([mac, name, name_source, port, down, up, kind], index) => {
    const received = down === 0 ? 4e6 : down * 900 + (down / 8) * 0.8 * (now % 86_400) * 0.01;
    const sent = up === 0 ? 1e6 : up * 900;
    const device = {
      mac,
      addresses: [`192.168.1.${20 + index}`, `2001:db8:1::${(20 + index).toString(16)}`].slice(
        0,
        index % 3 === 1 ? 1 : 2,
      ),
      name,
      port,
      uplink: false,
      received: counts(received),
      sent: counts(sent),
      // The second is a disk with incoming copies.
      lan: {
        received: counts(index === 1 ? 7e9 : 3e5 * index),
        sent: counts(index === 1 ? 4e8 : 2e5 * index),
        rate: { received: index === 1 ? 9e6 : 0, sent: 0 },
      },
      forwarded: counts((received + sent) * (port === "br-iot" ? 0.2 : 0.93)),
      rate: {
        received: Math.round(down * swing(kind, mac, now)),
        sent: Math.round(up * swing(kind, `${mac}u`, now)),
      },
      conversations: kind === "still" ? 0 : 1 + ((index * 7) % 23),
      first_seen: since + index * 500,
      last_seen: kind === "still" ? now - 4000 * (index - 7) : now - (index % 4),
    };
    if (name_source !== null) device.name_source = name_source;
    if (name_source === "configuration") device.configured = ["name"];
    if (index % 3 === 0) device.local_mac = true;
    else device.vendor = index === 4 ? HOSTILE.markup : VENDORS[index % VENDORS.length];
    Object.assign(device, LABELS[mac], given[mac]);
    if (port === "br-iot") device.vlan = 30;
    if (down > 0.1e6) {
      device.latency = {
        lan: port === "wlan0" ? 3.2 + 2 * noise(mac, Math.floor(now / 4)) : 0.3,
        wan: 14 + 9 * noise(mac, Math.floor(now / 4)),
        lan_min: port === "wlan0" ? 1.4 : 0.2,
        wan_min: 11.8,
        retransmissions: 40 + index * 13,
        growth: index === 0 ? 370 : index === 3 ? 62 : 4,
        bufferbloat: index === 0 ? "bad" : index === 3 ? "fair" : "good",
      };
    }
    if (port === "wlan0") {
      device.wifi = {
        signal: -49 - index * 4,
        rate_to: 866_700_000,
        rate_from: 433_300_000,
        retries: 1930,
        failed: 4,
        airtime: 918_000_000,
      };
    }
    return device;
  });
  own[0].quota = {
    period: "month",
    limit: 200e9,
    used: 171e9,
    state: "warned",
    resets: now + 9 * 86_400,
  };
  own[1].quota = { period: "day", limit: 20e9, used: 6.2e9, state: "within", resets: now + 20_000 };
  own[11].quota = { period: "day", limit: 50e6, used: 52e6, state: "cut", resets: now + 20_000 };
  const sum = (way) => own.reduce((all, device) => all + device.rate[way], 0);
  const bytes = (way) => own.reduce((all, device) => all + device[way].bytes, 0);
  const gateway = {
    mac: GATEWAY,
    addresses: ["198.51.100.1"],
    name: null,
    port: "wan",
    uplink: true,
    received: counts(bytes("sent")),
    sent: counts(bytes("received")),
    lan: { received: counts(0), sent: counts(0), rate: { received: 0, sent: 0 } },
    forwarded: counts(bytes("received") * 0.9),
    rate: { received: sum("sent"), sent: sum("received") },
    conversations: 60,
    first_seen: since,
    last_seen: now,
  };
  const metered = (bytes) => ({
    conversations: counts(bytes),
    unplaced: counts(0),
    other: counts(5000),
    link: Math.round(bytes * 0.014),
  });
  const lan = (name) => {
    const there = own.filter((device) => device.port === name);
    const rate = (way) => there.reduce((all, device) => all + device.rate[way], 0);
    const all = (way) => there.reduce((bytes, device) => bytes + device[way].bytes, 0);
    return {
      name,
      uplink: false,
      incoming: metered(all("sent")),
      outgoing: metered(all("received")),
      rate: { received: rate("received"), sent: rate("sent") },
    };
  };
  const wan = {
    name: "wan",
    uplink: true,
    incoming: metered(bytes("received")),
    outgoing: metered(bytes("sent")),
    rate: { received: sum("sent"), sent: sum("received") },
  };
  return {
    since,
    now,
    devices: [gateway, ...own].sort(
      (a, b) => b.rate.received + b.rate.sent - a.rate.received - a.rate.sent,
    ),
    ports: [wan, lan("br-lan"), lan("wlan0"), lan("br-iot")],
  };
}

export function conversations(now, query) {
  const all = [];
  for (const [index, device] of devices(now)
    .devices.filter((candidate) => !candidate.uplink)
    .entries()) {
    const number = Number.parseInt(device.mac.slice(-2), 16);
    for (const [
      part,
      [remote_name, remote, remote_port, application, protocol_number, protocol, share],
    ] of FAR.entries()) {
      if (device.conversations === 0 || (index > 4 && part > 2)) continue;
      const six = remote.includes(":");
      const conversation = {
        id: number * 100 + part,
        port: device.port,
        mac: device.mac,
        protocol_number,
        station: six ? `2001:db8:1::${number.toString(16)}` : device.addresses[0],
        station_port: remote_port === 0 ? 0 : 40_000 + number * 10 + part,
        remote,
        remote_port,
        application,
        uplink: "wan",
        received: counts(device.received.bytes * share),
        sent: counts(device.sent.bytes * share),
        rate: {
          received: Math.round(device.rate.received * share),
          sent: Math.round(device.rate.sent * share),
        },
        first_seen: now - 300 - part * 700,
        last_seen: now - part,
      };
      if (device.name !== null) conversation.device = device.name;
      if (remote_name !== undefined) conversation.remote_name = remote_name;
      if (protocol !== undefined) conversation.protocol = protocol;
      if (!six) conversation.translated = `198.51.100.2:${30_000 + number * 10 + part}`;
      if (share > 0.02) conversation.hook = device.port === "wlan0" ? "tc" : "xdp";
      if (protocol === "tcp" && device.latency)
        conversation.latency = { ...device.latency, retransmissions: part * 3 };
      all.push(conversation);
    }
  }
  // Answered queries, as each device has them by the dozen.
  const asker = devices(now).devices.find(({ name, uplink }) => name !== null && !uplink);
  for (let number = 0; number < 30; number += 1)
    all.push({
      id: 50_000 + number,
      port: asker.port,
      mac: asker.mac,
      device: asker.name,
      protocol_number: 17,
      protocol: "udp",
      station: asker.addresses[0],
      station_port: 50_000 + number,
      remote: "192.168.1.1",
      remote_port: 53,
      application: "dns",
      received: counts(180),
      sent: counts(74),
      rate: { received: 0, sent: 0 },
      first_seen: now - 60 - number,
      last_seen: now - 59 - number,
    });
  // Conversations of the router itself, seen at the uplink: the remote end is the station there.
  all.push({
    id: 99,
    port: "wan",
    mac: GATEWAY,
    outside: true,
    protocol_number: 17,
    protocol: "udp",
    station: "192.0.2.123",
    station_port: 123,
    remote: "198.51.100.2",
    remote_port: 123,
    application: "time",
    received: counts(4800),
    sent: counts(5200),
    rate: { received: 76, sent: 152 },
    first_seen: now - 900,
    last_seen: now - 3,
  });
  const fitting = all
    .filter(
      (conversation) =>
        (!query.device || conversation.mac === query.device) &&
        (!query.port || conversation.port === query.port),
    )
    .sort((a, b) => b.rate.received + b.rate.sent - a.rate.received - a.rate.sent);
  return { total: fitting.length, conversations: fitting.slice(0, Number(query.limit) || 100) };
}

const OFFSET = 60;

export function history(now, query) {
  const unit = query.unit ?? "day";
  const by = query.by ?? "device";
  const from = Number(query.from) || now - 31 * 86_400;
  const to = Math.min(Number(query.to) || now, now);
  const zone = OFFSET * 60;
  const start = (time, step) => {
    const date = new Date((time + zone) * 1000);
    const [y, m, d, h] = [
      date.getUTCFullYear(),
      date.getUTCMonth(),
      date.getUTCDate(),
      date.getUTCHours(),
    ];
    return (
      (unit === "hour"
        ? Date.UTC(y, m, d, h + step)
        : unit === "day"
          ? Date.UTC(y, m, d + step)
          : Date.UTC(y, m + step, 1)) /
        1000 -
      zone
    );
  };
  const scale = { hour: 1, day: 24, month: 24 * 30 }[unit] ?? 24;
  const periods = [];
  for (let time = start(from, 0); time < to && periods.length < 200; time = start(time, 1)) {
    // A quiet period, as in every household.
    if (noise("quiet", unit, time) < 0.06) continue;
    const parts = [];
    for (const [index, [mac, name, , , down, up]] of DEVICES.entries()) {
      if (query.device && query.device !== mac) continue;
      for (const [, , , application, , , share] of FAR) {
        const key = by === "application" ? application : mac;
        const weight = 0.3 + noise(mac, application, unit, time);
        const received = (down || 2000) * 160 * scale * share * weight;
        const sent = (up || 900) * 160 * scale * share * weight;
        const known = parts.find((part) => part.key === key);
        if (known) {
          known.received = counts(known.received.bytes + received);
          known.sent = counts(known.sent.bytes + sent);
        } else {
          const lan = { received: counts(received / 9), sent: counts(sent / 7) };
          const part = { key, received: counts(received), sent: counts(sent), lan };
          if (by === "device" && name !== null && index !== 2) part.name = name;
          parts.push(part);
        }
      }
    }
    parts.sort((a, b) => b.received.bytes + b.sent.bytes - a.received.bytes - a.sent.bytes);
    const sum = (way) => counts(parts.reduce((all, part) => all + part[way].bytes, 0));
    periods.push({
      start: time,
      end: start(time, 1),
      received: sum("received"),
      sent: sum("sent"),
      lan: {
        received: counts(parts.reduce((all, part) => all + part.lan.received.bytes, 0)),
        sent: counts(parts.reduce((all, part) => all + part.lan.sent.bytes, 0)),
      },
      parts,
    });
  }
  return { unit, by, offset_minutes: OFFSET, periods };
}

/** `speed` of the household's time: the page derives packet rates by its own clock. */
export function status(now, begun, speed) {
  const packets = Math.round(((now - begun) / speed) * 9000 + 400 * Math.sin(now / 7));
  return {
    version: "0.9.0-mock",
    started: begun,
    uptime_seconds: Math.floor(now - begun),
    netns: 4026531840,
    modules: ["offload", "monitor", "portal", "setup"],
    mode: "forward",
    armed: true,
    epoch: 12,
    flows: {
      ipv4: { known: 412, proven: 230, declined: 19 },
      ipv6: { known: 90, proven: 44, declined: 2 },
      capacity: 98_304,
    },
    hops: { used: 9, capacity: 4096 },
    packets: {
      forwarded_xdp: Math.round(packets * 0.71),
      forwarded_tc: Math.round(packets * 0.24),
      bytes: packets * 980,
      passed: { unproven: Math.round(packets * 0.03), unknown: Math.round(packets * 0.02) },
    },
    fast_path_share: 0.948,
    bumps: {},
    refused: {},
    lost_events: 0,
    each_packet: {
      connections: 17,
      rules: [
        {
          rule: "inet fw4 forward_guest, handle 214",
          why: "a rate limit counts packets",
          connections: 14,
        },
        {
          rule: "inet fw4 forward_wan, handle 231",
          why: "the length of each packet decides",
          connections: 3,
        },
      ],
    },
    heartbeat: { age_seconds: 0.2, limit_seconds: 2 },
    multipath: { partner: PARTNER, state: "connected", redirects: true, uplinks: 3, open: 41 },
  };
}

export function hops() {
  const stations = DEVICES.map(([destination, , , device], index) => ({
    index: index + 1,
    device,
    header: "",
    destination,
    source: "02:00:5e:00:00:01",
    epoch: 1,
    flows: 4,
    xdp: device !== "wlan0",
  }));
  return [
    {
      index: 0,
      device: "wan",
      header: "",
      destination: GATEWAY,
      encapsulation: "VLAN 7, PPPoE session 12",
      epoch: 3,
      flows: 40,
      xdp: true,
    },
    ...stations,
  ];
}

/** `speed` as for the status. */
export function flows(now, query, speed) {
  const list = conversations(now, { limit: "1000" })
    .conversations.filter((conversation) => conversation.hook !== undefined)
    .map((conversation) => {
      const hop = DEVICES.findIndex(([mac]) => mac === conversation.mac) + 1;
      // Bytes grow by the current rate: the page's result from two polls is near that rate.
      const bytes = (rate) => Math.round((rate / 8) * ((now - START) / speed + 1000));
      const steady = DEVICES[hop - 1];
      const share = FAR.find(([, remote]) => remote === conversation.remote)?.[6] ?? 0;
      return {
        id: (0x1f000000 + conversation.id).toString(16),
        protocol: conversation.protocol,
        original: {
          source: conversation.station,
          source_port: conversation.station_port,
          destination: conversation.remote,
          destination_port: conversation.remote_port,
        },
        reply: {
          source: conversation.remote,
          source_port: conversation.remote_port,
          destination: "198.51.100.2",
          destination_port: 30_000,
        },
        translated: { snat: true, dnat: false },
        state: "forwarded",
        directions: {
          original: {
            packets: 100,
            bytes: bytes(steady[5] * share),
            proven: true,
            port_in: conversation.port,
            port_out: "wan",
            hop: 0,
            hook: conversation.hook,
          },
          reply: {
            packets: 100,
            bytes: bytes(steady[4] * share),
            proven: true,
            port_in: "wan",
            port_out: conversation.port,
            hop,
            hook: conversation.hook,
          },
        },
        mark: 0,
        zone: 0,
        age_seconds: 300,
      };
    });
  return { matched: list.length, flows: list.slice(0, Number(query.limit) || 1000) };
}

export function explain(query) {
  return {
    asked: query.flow,
    verdict: "Both directions are forwarded by weir.",
    witnesses: [
      { name: "seen", ok: true, text: "Packets came in at br-lan, 3 seconds ago." },
      {
        name: "known",
        ok: true,
        text: "conntrack has it, established, with the source translated to 198.51.100.2.",
      },
      {
        name: "proven",
        ok: true,
        text: "The kernel sent a packet of each direction as weir would; since then weir does.",
      },
    ],
    change: [],
  };
}

/** Conditions that the router would report for this household. */
export function conditions(now, status) {
  const own = devices(now).devices;
  const mac = (index) => own.filter((device) => !device.uplink)[index];
  const one = (severity, key, of, parameters, view = "", hint) => ({
    id: `${key} ${of}`,
    severity,
    key,
    parameters,
    text: `${key} in English`,
    ...(hint && { hint }),
    since: Math.floor(now) - 600,
    module: "mock",
    view,
    subject: of,
  });
  const named = (device) => device.name ?? device.mac;
  const quota = (key, device) =>
    one(
      key === "quota-cut" ? "critical" : "warning",
      key,
      device.mac,
      {
        name: named(device),
        used: String(device.quota.used),
        limit: String(device.quota.limit),
        share: String(device.quota.used / device.quota.limit),
        resets: String(Math.floor(device.quota.resets)),
      },
      "devices",
    );
  const all = [];
  for (const device of own) {
    if (device.quota?.state === "cut") all.push(quota("quota-cut", device));
    if (device.quota?.state === "warned") all.push(quota("quota-warned", device));
  }
  for (const { part, what, hint } of status.problems ?? [])
    all.push(one("warning", "part", part, { part, what }, "", hint));
  const full = { port: "wan", rate: "9800000", delay: "370" };
  all.push(one("warning", "upload-full", "wan", full, "devices"));
  all.push(one("hint", "bloat", mac(0).mac, { name: named(mac(0)) }, "devices"));
  return { now: Math.floor(now), conditions: all };
}
