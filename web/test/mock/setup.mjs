// A router during setup: knows only as much of networks as a wizard's test needs.
import { HOSTILE, START } from "./world.mjs";

/** The QR code need not be readable. */
const QR = { side: 29, path: "M4 4h7v7h-7zM18 4h7v7h-7zM4 18h7v7h-7zM13 13h3v3h-3zM20 20h4v1h-4z" };

const MESH = { kind: "batman", name: "roofs", key: "what the neighbours know", country: "DE" };

const JOIN = `format = 1

[mesh]
kind = "batman"
name = "roofs"
key = "what the neighbours know"
country = "DE"
`;

const CHOICES = {
  format: 1,
  router: { name: "OpenWrt", timezone: "UTC" },
  internet: { kind: "dhcp", ipv6: true },
  lan: { address: "192.168.1.1/24", dhcp: true, first: 100, count: 150, lease: "12h" },
  wifi: {
    country: "DE",
    networks: [
      { ssid: HOSTILE.markup, security: "wpa2", for: "lan" },
      { ssid: `guests${HOSTILE.override}`, security: "open", for: "guest", radios: ["radio0"] },
    ],
  },
  dns: { server: "provider" },
  firewall: { forwards: [], blocked: [{ name: HOSTILE.markup, mac: "02:00:5e:10:00:15" }] },
};

const EVIDENCE = [
  { kind: "link", vlan: null, after: 20, fields: {}, text: "The port has a link" },
  { kind: "vlan", vlan: 7, after: 300, fields: {}, text: "Frames with this tag are heard" },
  {
    kind: "pppoe",
    vlan: 7,
    after: 600,
    fields: { services: ["Provider"] },
    text: `PPPoE answer from ${HOSTILE.markup}`,
  },
];

const SUGGESTION = {
  internet: "pppoe",
  vlan: 7,
  details: {
    services: ["Provider"],
    concentrators: [HOSTILE.markup],
    servers: [],
    addresses: [],
    network: null,
    gateway: null,
    dns: [],
    prefixes: [],
    delegated: [],
    ipv6: false,
    aftr: null,
    shared: [],
    nat64: null,
    portal: null,
  },
  lan: { former: "192.168.1.0/24", network: "192.168.7.0/24", why: "The uplink has the same." },
  why: [`PPPoE is answered in VLAN 7 by ${HOSTILE.override}.`],
  confident: true,
  open_questions: ["IPv6 in the session: the server announces it after the log-in."],
};

const change = (number, more) => ({
  number,
  why: "names of the rooms",
  who: "weir@192.168.1.23",
  when: START - 86_400 * number,
  left: null,
  files: ["/etc/config/system"],
  lines: [],
  ...more,
});

export function begin() {
  return {
    /** True if the setup process runs. */
    runs: true,
    known: true,
    choices: structuredClone(CHOICES),
    kept: ["wifi.networks[0].key", "router.password"],
    pending: null,
    undone: null,
    /** Reachability while a change waits. */
    reach: { way: "reached", whom: null, says: "the router reaches the Internet" },
    before: null,
    states: [change(2, { why: HOSTILE.markup }), change(1)],
    detect: null,
    /** Planned and applied documents, for checks by tests. */
    asked: [],
    applied: [],
  };
}

/** Each value of a document, with its path. */
function values(tree, path, found = new Map()) {
  for (const [name, value] of Object.entries(tree ?? {})) {
    const at = Array.isArray(tree) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
    if (typeof value === "object" && value !== null) values(value, at, found);
    else found.set(at, value);
  }
  return found;
}

const SECRET = /(password|key|pin)$/;
const isAddress = (text) => /^\d{1,3}(\.\d{1,3}){3}$/.test(text ?? "");
const isNetwork = (text) => /^\d{1,3}(\.\d{1,3}){3}\/\d{1,2}$/.test(text ?? "");

function problems(choices, now, kept) {
  const all = [];
  const wrong = (field, problem, says, values = {}) =>
    all.push({ field, problem, values, says, hint: "type another one" });
  const { router, internet, lan, wifi, firewall, wireguard, openvpn, mesh } = choices;
  if (router) {
    if (router.name === "") wrong("router.name", "required", "a name is needed");
    else if (!/^[a-z0-9-]+$/i.test(router.name))
      wrong("router.name", "not-a-name", "this is no name");
    if (router.password !== undefined && router.password.length < 10)
      wrong("router.password", "too-short", "too short", { least: "10" });
    if (router.place?.some((degrees) => Math.abs(degrees) > 180))
      wrong("router.place", "not-a-place", "there is no such place");
  }
  if (internet?.kind === "static") {
    if (!isNetwork(internet.address))
      wrong("internet.address", "not-a-network", "this is no network");
    if (!isAddress(internet.gateway))
      wrong("internet.gateway", "outside-network", "this is not in the network");
  }
  if (internet?.kind === "pppoe") {
    if (!internet.username) wrong("internet.username", "required", "a name is needed");
    if (!internet.password) wrong("internet.password", "required", "a password is needed");
  }
  if (internet?.vlan > 4094)
    wrong("internet.vlan", "out-of-range", "no such VLAN", { least: "1", most: "4094" });
  // The list has no field of its own.
  if (!now.internet && !internet && wifi?.networks.some((network) => network.for === "guest"))
    wrong("wifi.networks", "no-uplink", "the router has no uplink");
  for (const [index, network] of (wifi?.networks ?? []).entries()) {
    const at = `wifi.networks[${index}]`;
    if (network.ssid === "") wrong(`${at}.ssid`, "required", "a name is needed");
    if (["open", "owe"].includes(network.security)) continue;
    // An omitted key is that of the network with this name.
    const before = now.wifi.networks.findIndex(({ ssid }) => ssid === network.ssid);
    if (!network.key && !kept.includes(`wifi.networks[${before}].key`))
      wrong(`${at}.key`, "needs-key", "it needs a key");
    else if (network.key?.length < 8)
      wrong(`${at}.key`, "too-short", "the key is too short", { least: "8" });
    if (
      network.security !== "wpa2" &&
      (network.radios?.length !== 1 || network.radios[0] !== "radio1")
    )
      wrong(`${at}.security`, "no-wpa3", "radio0 does not support WPA3");
  }
  if (lan && !isNetwork(lan.address)) wrong("lan.address", "not-a-network", "this is no network");
  if (mesh && mesh.kind !== "none" && mesh.name === "")
    wrong("mesh.name", "required", "a name is needed");
  for (const [index, forward] of (firewall?.forwards ?? []).entries()) {
    if (!forward.port) wrong(`firewall.forwards[${index}].port`, "required", "a port is needed");
    // A keyword that no catalogue has.
    if (!isAddress(forward.to))
      wrong(`firewall.forwards[${index}].to`, "not-inside", "no device inside has this address");
  }
  for (const [part, tunnel] of Object.entries({ wireguard, openvpn }))
    for (const [index, client] of (tunnel?.on ? (tunnel.clients ?? []) : []).entries())
      if (client.name === "") wrong(`${part}.clients[${index}].name`, "required", "whose is it?");
  return all;
}

function plan(setup, choices) {
  const now = values(setup.choices, "");
  const lines = [];
  for (const [address, value] of values(choices, "")) {
    if (now.get(address) === value || address === "format") continue;
    const shown = SECRET.test(address) ? "'…'" : `'${value}'`;
    if (now.has(address))
      lines.push({ added: false, address, value: `'${now.get(address)}'`, list: false });
    lines.push({ added: true, address, value: shown, list: address.includes("dns[") });
  }
  const sentences = [];
  const say = (step, sentence, says, told = {}) =>
    sentences.push({ step, sentence, values: told, says });
  const { router, internet, wifi, lan } = choices;
  if (router && router.name !== setup.choices.router.name)
    say("router", "router-name", `The router is called ${router.name}.`, { name: router.name });
  if (router?.password) say("router", "router-password", "The administrator gets a password.");
  if (internet?.kind === "pppoe")
    say("internet", "internet-pppoe", "PPPoE", { username: internet.username ?? "" });
  for (const { ssid } of wifi?.networks ?? [])
    if (!setup.choices.wifi.networks.some((one) => one.ssid === ssid))
      say("wifi", "wifi-network", `The Wi-Fi network ${ssid} is there.`, { ssid });
  // A sentence with a keyword that no catalogue has.
  if (lines.length > 0) say("services", "firewall-reload", "The firewall is loaded anew.");
  const address =
    lan && lan.address !== setup.choices.lan.address ? lan.address.split("/")[0] : null;
  if (address !== null)
    say("services", "lan-address", `The address becomes ${address}.`, { address });
  const length = router?.password?.length ?? 0;
  return {
    problems: problems(choices, setup.choices, setup.kept),
    lines,
    sentences,
    strength: length === 0 ? null : strength(length),
    address,
  };
}

const strength = (length) => ({
  score: Math.min(4, Math.floor(length / 5)),
  warning: length < 10 ? "This is similar to a commonly used password." : null,
  suggestions: length < 15 ? ["Add another word or two."] : [],
});

/** Reverts a change that was not confirmed in time. */
function tick(setup) {
  if (setup.pending === null || Date.now() < setup.pending.until) return;
  setup.undone = setup.pending.change;
  setup.pending = null;
  setup.choices = setup.before;
}

const told = ({ change: made, until }) => ({
  ...made,
  left: Math.max(0, Math.ceil((until - Date.now()) / 1000)),
});

/** Answers a request; undefined: not one of these. */
export function answer(setup, call, body) {
  if (!/^(GET|POST) v1\/setup/.test(call)) return undefined;
  if (!setup.runs)
    return {
      status: 503,
      error: "no_setup",
      detail: "cannot connect to the setup process",
      hint: "start it on the router: /etc/init.d/weir-setup start",
    };
  tick(setup);
  switch (call) {
    case "GET v1/setup":
      return {
        json: {
          release: { name: "OpenWrt", version: "24.10.1", known: setup.known },
          model: `Acme AX3000 ${HOSTILE.override}`,
          radios: [
            { name: "radio0", bands: ["2g"], wpa3: false, mesh: false, apup: false },
            { name: "radio1", bands: ["5g", "6g"], wpa3: true, mesh: true, apup: false },
          ],
          ports: ["wan", "lan1", "lan2"],
          choices: setup.choices,
          kept: setup.kept,
          pending: setup.pending && told(setup.pending),
          undone: setup.undone,
          reach: setup.pending && setup.reach,
          states: setup.states,
        },
      };
    case "POST v1/setup/plan":
      setup.asked.push(body.choices);
      return { json: plan(setup, body.choices) };
    case "POST v1/setup/apply": {
      if (setup.pending !== null)
        return {
          status: 409,
          error: "pending",
          detail: `${setup.pending.change.who} made a change that awaits confirmation`,
          hint: "confirm it first, or take it back",
        };
      const { address } = plan(setup, body.choices);
      const number = (setup.states[0]?.number ?? 0) + 1;
      const made = change(number, { why: body.why, who: "weir@192.168.1.40", when: START });
      setup.applied.push(body);
      setup.before = structuredClone(setup.choices);
      setup.pending = { change: made, until: Date.now() + body.within * 1000 };
      const known = setup.choices.openvpn?.clients ?? [];
      Object.assign(setup.choices, harmless(body.choices));
      const clients = (body.choices.wireguard?.clients ?? []).filter(
        (client) => client.public_key === undefined,
      );
      const file = "[Interface]\nPrivateKey = made-up\n";
      const once = clients.map(({ name }) => ({ name, tunnel: "wireguard", file, qr: QR }));
      for (const { name } of body.choices.openvpn?.clients ?? [])
        if (!known.some((client) => client.name === name))
          once.push({
            name,
            tunnel: "openvpn",
            file: "client\n<key>\nmade-up\n</key>\n",
            qr: null,
          });
      return { json: { change: told(setup.pending), address, once } };
    }
    case "POST v1/setup/confirm": {
      const { change: made } = setup.pending;
      if (body.number !== made.number || body.when !== made.when) {
        const detail = "another change waits";
        return { status: 409, error: "setup", detail, hint: "look at it again" };
      }
      setup.states.unshift(made);
      setup.pending = null;
      setup.undone = null;
      return { json: { change: made } };
    }
    case "POST v1/setup/revert": {
      if (body.number === undefined) {
        const { change: made } = setup.pending;
        setup.pending = null;
        setup.undone = made;
        setup.choices = setup.before;
        return { json: { change: made } };
      }
      // A return is a change, too, which waits.
      const made = change(setup.states[0].number + 1, { why: `back to before ${body.number}` });
      setup.before = structuredClone(setup.choices);
      setup.pending = { change: made, until: Date.now() + 120_000 };
      return { json: { change: told(setup.pending) } };
    }
    case "GET v1/setup/join":
      return { json: { document: JOIN, qr: QR } };
    case "POST v1/setup/read":
      // Accepts only one document.
      if (body.document.trim() !== JOIN.trim()) {
        const detail = "cannot read the document";
        const hint = "weir setup export writes one";
        return { status: 409, error: "setup", detail, hint };
      }
      return { json: { choices: { format: 1, mesh: MESH }, why: "", within: null } };
    case "POST v1/setup/detect":
      setup.detect = { began: Date.now(), port: body.port };
      return { json: {} };
    case "GET v1/setup/detect": {
      const passed = Date.now() - (setup.detect?.began ?? 0);
      const running = passed < 1200;
      return {
        json: {
          running,
          port: setup.detect?.port ?? "wan",
          evidence: EVIDENCE.filter(({ after }) => after <= passed),
          suggestion: running ? null : SUGGESTION,
          failed: null,
        },
      };
    }
    default:
      return undefined;
  }
}

/** State without secrets, as the router reports it. */
function harmless(tree) {
  if (Array.isArray(tree)) return tree.map(harmless);
  if (typeof tree !== "object" || tree === null) return tree;
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([name]) => !SECRET.test(name) || name === "public_key")
      .map(([name, value]) => [name, harmless(value)]),
  );
}
