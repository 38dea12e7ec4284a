// Content of the form, and the parts of it that are sent or stored. Pure.
import type { Choices, Network, Part, Radio, Suggestion } from "../types";
import { PARTS, type Step } from "./steps";

/**
 * Values for parts that the router lacks: those of OpenWrt. A router without an uplink, such as an
 * access point, stays without one.
 */
export const DEFAULTS: Readonly<Required<Omit<Choices, "format">>> = {
  router: { name: "OpenWrt" },
  internet: { kind: "kept", ipv6: true },
  lan: { address: "192.168.1.1/24", dhcp: true, first: 100, count: 150, lease: "12h" },
  wifi: { networks: [] },
  mesh: { kind: "none" },
  dns: { server: "provider" },
  wireguard: { on: false, port: 51820, address: "10.71.0.1/24" },
  openvpn: { on: false, port: 1194, network: "10.72.0.0/24" },
  firewall: { forwards: [], blocked: [] },
};

/**
 * Parts of every form. The uplink is not among them: if the router has none, none is sent until the
 * user chooses one.
 */
const ALWAYS: readonly Part[] = ["router", "wifi"];

/** A new Wi-Fi network, with the best security that these radios support. */
export function newNetwork(radios: readonly Radio[], whom: Network["for"]): Network {
  return { ssid: "", security: radios.every(({ wpa3 }) => wpa3) ? "mixed" : "wpa2", for: whom };
}

/** Initial form: the router's state. With radios, but no network, adds an empty network. */
export function begin(told: Choices, radios: readonly Radio[]): Choices {
  const form: Choices = { ...told, format: 1 };
  for (const part of ALWAYS) Object.assign(form, { [part]: told[part] ?? DEFAULTS[part] });
  if (radios.length > 0 && form.wifi?.networks.length === 0)
    form.wifi = { ...form.wifi, networks: [newNetwork(radios, "lan")] };
  return form;
}

/** Names of fields that hold a secret, at any depth. */
const SECRETS = ["password", "key", "pin", "private_key", "preshared_key"];

type Tree = { [name: string]: unknown };
const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null;

/** Calls back for each value that is not an object, with its path. */
function walk(value: unknown, path: string, found: (path: string, name: string) => void): void {
  if (!isTree(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    const place = Array.isArray(value)
      ? `${path}[${name}]`
      : path === ""
        ? name
        : `${path}.${name}`;
    if (isTree(inner)) walk(inner, place, found);
    else found(place, name);
  }
}

/** Paths of typed secrets. */
export function secrets(form: Choices): string[] {
  const all: string[] = [];
  walk(form, "", (path, name) => {
    if (SECRETS.includes(name)) all.push(path);
  });
  return all;
}

/** A copy without the values that `drop` selects. */
function without(value: unknown, drop: (name: string, value: unknown) => boolean): unknown {
  if (Array.isArray(value)) return value.map((inner) => without(inner, drop));
  if (!isTree(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !drop(name, inner))
      .map(([name, inner]) => [name, without(inner, drop)]),
  );
}

/** The part that the browser may store: no secrets. */
export const harmless = (form: Choices): Choices =>
  without(form, (name) => SECRETS.includes(name)) as Choices;

/** Fields that stay as empty texts: the element does not exist without them. */
const NEEDED = ["name", "ssid", "address", "lease", "network", "port", "mac"];

/**
 * The document to send: parts of the visited steps. Optional empty fields are left out: so a secret
 * stays as it is.
 */
export function choices(form: Choices, visited: readonly Step[]): Choices {
  const sent: Choices = { format: 1 };
  for (const part of visited.flatMap((step) => PARTS[step])) {
    if (form[part] !== undefined) Object.assign(sent, { [part]: form[part] });
  }
  if (sent.router?.place?.every((degrees) => degrees.trim() === "")) {
    const { place: _, ...router } = sent.router;
    sent.router = router;
  }
  if (sent.internet) sent.internet = ofKind(sent.internet);
  const cleaned = without(
    sent,
    (name, value) =>
      value === null || value === undefined || (value === "" && !NEEDED.includes(name)),
  ) as Choices;
  // The router assigns an unknown address.
  for (const client of cleaned.wireguard?.clients ?? []) {
    if (client.address === "") delete client.address;
  }
  return cleaned;
}

/** Fields of each kind of uplink; those of other kinds are leftovers of an earlier choice. */
const KINDS = {
  dhcp: ["vlan", "ipv6"],
  static: ["vlan", "ipv6", "address", "gateway", "dns"],
  pppoe: ["vlan", "ipv6", "username", "password", "service"],
  mobile: ["ipv6", "apn", "pin", "username", "password", "modem"],
  wifi: ["ipv6", "ssid", "key", "radio"],
  none: ["ipv6"],
  kept: [],
} as const;

function ofKind(internet: NonNullable<Choices["internet"]>): NonNullable<Choices["internet"]> {
  const kept: readonly string[] = KINDS[internet.kind];
  const fields = Object.entries(internet).filter(
    ([name]) => name === "kind" || kept.includes(name),
  );
  return Object.fromEntries(fields) as unknown as NonNullable<Choices["internet"]>;
}

/** Parses a whole number of at most `most`; ignores other characters than digits. */
export function digits(typed: string, most: number): number | null {
  let number: number | null = null;
  for (const sign of typed.replace(/\D/g, "")) {
    const next: number = (number ?? 0) * 10 + Number(sign);
    if (next > most) break;
    number = next;
  }
  return number;
}

/** Splits addresses at commas, spaces or line ends. */
export const list = (typed: string): string[] => typed.split(/[\s,;]+/).filter(Boolean);

/** First address of a network, with its length: for `192.168.7.0/24`, `192.168.7.1/24`. */
export const firstIn = (network: string): string =>
  network.replace(/\.(\d+)\//, (_, last) => `.${Number(last) + 1}/`);

/** Puts the detected uplink into the form. */
export function take(form: Choices, found: Suggestion): Choices {
  const only6 = found.internet === "dhcpv6-only";
  const kind = only6 ? "dhcp" : found.internet;
  if (kind === "none") return form;
  const { gateway, dns, services } = found.details;
  const taken: Choices = {
    ...form,
    internet: {
      ...(form.internet ?? DEFAULTS.internet),
      kind,
      vlan: found.vlan,
      ...(kind === "static" && {
        // A free address cannot be detected.
        address: "",
        gateway: gateway ?? "",
        dns,
      }),
      // A single name is a suggestion; the reader chooses among several.
      ...(kind === "pppoe" && { service: services.length === 1 ? services[0] : "" }),
    } as NonNullable<Choices["internet"]>,
  };
  if (only6 && taken.internet) taken.internet.ipv6 = true;
  const network = found.lan?.network ?? null;
  if (network !== null) {
    taken.lan = { ...(form.lan ?? DEFAULTS.lan), address: firstIn(network) };
  }
  return taken;
}

/** Clients, and one new client. */
export const moreClients = <T extends { name: string }>(
  clients: readonly T[],
): (T | { name: string })[] => [...clients, { name: "" }];

/** A list with one of its elements changed, or without it. */
export function changed<T>(all: readonly T[], index: number, to: T | null): T[] {
  return all.flatMap((one, at) => (at !== index ? [one] : to === null ? [] : [to]));
}
