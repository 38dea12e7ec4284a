// Ports of the household's router. Requests of the page change them.
import { HOSTILE } from "./world.mjs";

const ROLES = ["uplink", "mesh", "radio", "client", "border", "switch", "loop", "unknown"];

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

const NO_LINK = {
  link: false,
  role: "unknown",
  confidence: 0,
  evidence: [],
  decided: null,
  now: "none",
  shut: false,
  moving: null,
  why: "the port has no link",
  change_condition: "A cable with something at its other end would change it.",
  notices: [],
};

const FOUND = {
  wan: {
    link: true,
    role: "uplink",
    confidence: 95,
    evidence: [
      { kind: "lldp", after: 340, text: `02:00:5e:20:00:01 announces itself as ${HOSTILE.script}` },
      { kind: "pado", after: 2140, text: "02:00:5e:20:00:01 offers PPPoE in VLAN 7" },
      { kind: "look", after: 2190, text: "A probe: PPPoE answers in VLAN 7" },
    ],
    decided: 2690,
    now: "uplink",
    shut: false,
    moving: null,
    why: "PPPoE is offered by 02:00:5e:20:00:01 in VLAN 7",
    change_condition: "Own frames, or a hello with the mesh's key, would change it.",
    notices: [],
  },
  lan1: {
    link: true,
    role: "client",
    confidence: 70,
    evidence: [
      {
        kind: "lldp",
        after: 20,
        text: `02:00:5e:10:00:15 announces itself as ${HOSTILE.markup} (${HOSTILE.override})`,
      },
      { kind: "dhcp-client", after: 1310, text: "02:00:5e:10:00:15 asks for an address by DHCP" },
      {
        kind: "dhcp-server",
        after: 4_000_000,
        text: "02:00:5e:10:00:99 answers DHCP",
      },
    ],
    decided: 3000,
    now: "lan",
    shut: false,
    moving: null,
    why: "a station announces itself",
    change_condition: "PPPoE would make it uplink, and so would the administrator's choice.",
    notices: [],
  },
  lan2: {
    link: true,
    role: "loop",
    confidence: 99,
    evidence: [{ kind: "own", after: 90, text: "4 own frames came back" }],
    decided: 90,
    now: "lan",
    shut: false,
    moving: null,
    why: "own frames come back",
    change_condition: "Thirty seconds without own frames would end it.",
    notices: [
      "Another DHCP server, 02:00:5e:10:00:99, answers where this router serves DHCP itself",
      `Another router of IPv6, ${HOSTILE.control}, advertises itself`,
    ],
  },
  lan3: {
    link: true,
    role: "switch",
    confidence: 65,
    evidence: [
      { kind: "arp", after: 120, text: "02:00:5e:10:00:12 sends ARP" },
      { kind: "bpdu", after: 1980, text: "02:00:5e:30:00:01 sends spanning tree frames" },
    ],
    decided: 3000,
    now: "lan",
    shut: false,
    moving: null,
    why: "a bridge sends spanning tree frames",
    change_condition: "A DHCP or PPPoE server, or own frames, would change it.",
    notices: [],
  },
  // Names of devices may have nearly any sign but a slash; 15 bytes at most.
  "<b>p\u202e4": NO_LINK,
};

const REFUSED = `It cannot become the uplink: pppoe needs a user name (${HOSTILE.markup}); set it in the wizard`;

/** Ports if weir moves them. */
const MOVED = {
  wan: { ...FOUND.wan, moving: "It becomes the uplink, and stays so once that works" },
  lan1: FOUND.lan1,
  lan2: { ...FOUND.lan2, shut: true },
  lan3: FOUND.lan3,
  lan4: {
    ...FOUND.wan,
    evidence: FOUND.wan.evidence.slice(1),
    confidence: 85,
    now: "none",
    moving: REFUSED,
    notices: [REFUSED],
  },
};

/** Seconds since 1970, of the first event. */
const BEGUN = 1_780_000_000;
const event = (device, kind, value, text) => ({ device, kind, value, text });

/** Events, the oldest first; a test adds to them. */
const EVENTS = [
  event("wan", "link", "up", "A cable is plugged in"),
  event("<b>p\u202e4", "link", "down", "There is no link"),
  event("lan2", "role", "loop", "Own frames come back."),
  event("lan1", "role", "client", `${HOSTILE.script} (${HOSTILE.override}) announces itself.`),
  event("wan", "role", "uplink", "PPPoE is offered by 02:00:5e:20:00:01 in VLAN 7."),
  event("lan4", "refused", "uplink", REFUSED),
  event("wan", "moved", "uplink", "It becomes the uplink, and stays so once that works"),
];

/**
 * Changeable by a test: `mode`, `settles` (polls until a listening port is decided), `found` (role
 * at a port, by name), `held`, `full` (the disk is full), `events`, `deaf` (requests for events
 * fail), and `asked`: number after which events were requested.
 */
export function begin() {
  return {
    mode: "suggest",
    looks: 0,
    settles: 4,
    found: { ...FOUND },
    held: {},
    full: false,
    events: [...EVENTS],
    deaf: false,
    asked: [],
  };
}

/** Makes weir move ports from now on. */
export function moves(state) {
  state.mode = "auto";
  state.found = { ...MOVED };
}

/** Numbers events like the router. */
function told(state, after) {
  const all = state.events.map((one, index) => ({
    number: index + 1,
    when: BEGUN + 60 * index,
    ...one,
  }));
  return { last: all.length, events: all.filter(({ number }) => number > after) };
}

function cable(state, device) {
  let found = { ...state.found[device] };
  if (device === "lan3" && found.link && state.looks <= state.settles) {
    const evidence = found.evidence.slice(0, state.looks > 1 ? 1 : 0);
    found = { ...found, role: "unknown", confidence: 0, decided: null, evidence };
    if (state.mode === "auto") Object.assign(found, { now: "none", shut: true });
    found.why = "the link has just come up";
    found.change_condition = "Any frame would change it.";
  }
  const role = state.held[device];
  if (role === undefined) return { device, ...found, held_by: null, why: sentence(found.why) };
  return {
    device,
    ...found,
    role,
    confidence: 100,
    decided: 0,
    held_by: "administrator",
    why: sentence(
      `the administrator chose ${role}; the evidence suggests ${found.role}, as ${found.why}`,
    ),
    change_condition: "The administrator's choice alone would change it.",
  };
}

/** Answers a request; undefined: not one of these. */
export function answer(state, call, body, query) {
  const off = state.mode === "off";
  const refused = (status, error, detail, hint) => ({ status, error, detail, hint });
  if (call === "GET v1/cables") {
    state.looks += 1;
    const devices = Object.keys(state.found);
    return {
      json: {
        mode: state.mode,
        cables: off ? [] : devices.map((device) => cable(state, device)),
      },
    };
  }
  if (call === "GET v1/cables/events") {
    if (state.deaf)
      return refused(503, "busy", `nothing is told of ${HOSTILE.markup}`, "wait a little");
    state.asked.push(Number(query.after));
    return { json: off ? { last: 0, events: [] } : told(state, Number(query.after)) };
  }
  const [, device, what] = /^POST v1\/cables\/([^/]+)\/(set|auto)$/.exec(call) ?? [];
  if (what === undefined) return undefined;
  if (off)
    return refused(
      409,
      "cables_off",
      "weir does not watch ports",
      'write mode = "suggest" under [cables] of the configuration, and start weir anew',
    );
  if (what === "set" && !ROLES.includes(body.role))
    return refused(
      400,
      "no_role",
      `${body.role} is not a valid role`,
      `valid roles: ${ROLES.join(", ")}`,
    );
  // The router compares the undecoded name in the path.
  if (!Object.hasOwn(state.found, device))
    return refused(404, "no_port", `no port is called ${device}`, "valid ports: wan, lan1");
  if (what === "set") state.held[device] = body.role;
  else delete state.held[device];
  if (state.full)
    return refused(
      500,
      "not_written",
      "the choice holds only until weir stops: cannot write it: No space left on device",
      "check `choices` under [cables], and whether the disk is full",
    );
  return { json: cable(state, device) };
}
