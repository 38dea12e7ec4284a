// Logic of the wizard without the router.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { CODES, countries } from "./core/countries";
import { begin, choices, DEFAULTS, digits, harmless, list, secrets, take } from "./core/form";
import { grouped, pageAt, written } from "./core/lines";
import { NUMBERS, phrase } from "./core/phrase";
import { drawn, moved, pointed, read, written as writtenPlace } from "./core/place";
import { STEPS, stepOf, stepOfField, unshown, within } from "./core/steps";
import { removed, set, wizard } from "./store";
import type { Choices, Details, FieldProblem, Network, Suggestion } from "./types";

const FORM: Choices = {
  format: 1,
  router: { name: "", password: "typed", timezone: "", place: ["", " "] },
  internet: { kind: "static", ipv6: true, vlan: null, address: "", username: "old", password: "p" },
  wifi: { networks: [{ ssid: "a", security: "mixed", for: "lan", key: "", radios: [] }] },
  lan: { address: "192.168.1.1/24", dhcp: true, first: 0, count: 10, lease: "12h" },
  mesh: { kind: "batman", name: "", key: "k", channel: null },
  wireguard: {
    on: true,
    port: 1,
    address: "10.0.0.1/24",
    clients: [{ name: "x", address: "", public_key: "k=" }],
  },
};

test("a step is shown only to who came to it", () => {
  assert.equal(stepOf("wifi", ["language", "wifi"]), "wifi");
  assert.equal(stepOf("wifi", ["language"]), "language");
  assert.equal(stepOf("constructor", [...STEPS]), "language");
  assert.equal(stepOf(undefined, [...STEPS]), "language");
});

test("each field belongs to a step", () => {
  for (const [field, step] of [
    ["router.language", "language"],
    ["router.password", "router"],
    ["router.place", "services"],
    ["router.place[0]", "services"],
    ["internet.dns[1]", "internet"],
    ["wifi.networks[0].key", "wifi"],
    ["mesh.key", "services"],
    ["firewall.forwards[2].to", "services"],
    ["something.else", "summary"],
  ] as const) {
    assert.equal(stepOfField(field), step, field);
  }
  assert.ok(within("internet.dns", "internet.dns[1]"));
  assert.ok(within("wifi.networks[1]", "wifi.networks[1].key"));
  assert.ok(!within("wifi.networks[1]", "wifi.networks[10].key"));
  assert.ok(!within("lan.first", "lan"));
});

test("a stuck step lists each problem that none of its fields shows", () => {
  const problem = (field: string, word = "x"): FieldProblem => ({
    field,
    problem: word,
    values: {},
    says: "",
    hint: "",
  });
  const fields = (problems: FieldProblem[], step: (typeof STEPS)[number], ...paths: string[]) =>
    unshown(problems, step, paths).map(({ field, problem: word }) => `${field} ${word}`);
  for (const [field, step, path] of [
    ["internet.port", "internet", "internet.kind"],
    ["wifi.networks", "wifi", "wifi.networks[0].ssid"],
    ["lan.ports[1]", "services", "lan.address"],
    ["firewall.blocked", "services", "firewall.blocked[0].mac"],
    ["firewall.forwards[1]", "services", "firewall.forwards[1].to"],
    ["firewall.forwards[1].to", "services", "firewall.forwards[10].to"],
  ] as const) {
    assert.deepEqual(fields([problem(field)], step, path), [`${field} x`]);
    assert.deepEqual(fields([problem(field)], step, field), []);
    // Another step lists its own.
    assert.deepEqual(fields([problem(field)], "router", path), []);
  }
  // A field shows problems of its parts.
  assert.deepEqual(fields([problem("internet.dns[1]")], "internet", "internet.dns"), []);
  assert.deepEqual(fields([problem("internet.dns[1]")], "internet"), ["internet.dns[1] x"]);
  // A field shows one problem: the first.
  const two = [problem("lan.address", "first"), problem("lan.address", "second")];
  assert.deepEqual(fields(two, "services", "lan.address"), ["lan.address second"]);
});

test("of the form is sent what was seen, without what is empty", () => {
  assert.deepEqual(choices(FORM, ["language"]), {
    format: 1,
    router: { name: "", password: "typed" },
  });
  const all = choices(FORM, [...STEPS]);
  // Fields of other kinds of uplink are left out; required ones are sent even if empty.
  assert.deepEqual(all.internet, { kind: "static", ipv6: true, address: "" });
  // An empty key stays as it is.
  assert.deepEqual(all.wifi?.networks[0], { ssid: "a", security: "mixed", for: "lan", radios: [] });
  assert.deepEqual(all.mesh, { kind: "batman", name: "", key: "k" });
  assert.deepEqual(all.wireguard?.clients, [{ name: "x", public_key: "k=" }]);
  assert.equal(all.lan?.first, 0);
  // The user did not touch these parts, and the router did not report them.
  assert.ok(!("dns" in all) && !("openvpn" in all) && !("firewall" in all));
});

test("nothing that is kept is a secret", () => {
  assert.deepEqual(secrets(FORM), [
    "router.password",
    "internet.password",
    "wifi.networks[0].key",
    "mesh.key",
  ]);
  const kept = harmless(FORM);
  assert.deepEqual(secrets(kept), []);
  assert.equal(kept.wireguard?.clients?.[0]?.public_key, "k=");
  assert.equal(kept.wifi?.networks[0]?.ssid, "a");
});

test("the form begins as the router is", () => {
  const internet = FORM.internet ?? assert.fail();
  const form = begin({ format: 1, internet, lan: { ...(FORM.lan ?? assert.fail()) } }, []);
  assert.deepEqual(form.internet, internet);
  assert.deepEqual(form.lan, FORM.lan);
  assert.equal(form.mesh, undefined);
});

test("an access point without an uplink stays without one", () => {
  const known: Network = { ssid: "a", security: "wpa2", for: "lan" };
  const lan = FORM.lan ?? assert.fail();
  // An access point with an address by DHCP has no `lan` in its answer.
  for (const told of [{ lan }, {}]) {
    const form = begin({ format: 1, ...told, wifi: { networks: [known] } }, []);
    form.wifi = { networks: [{ ...known, key: "another key" }] };
    const sent = choices(form, [...STEPS]);
    assert.ok(!("internet" in sent));
    assert.deepEqual(sent.lan, told.lan);
    assert.equal(sent.wifi?.networks[0]?.key, "another key");
  }
  // The step shows "as it is"; the card of that name tells the router the same.
  assert.equal(DEFAULTS.internet.kind, "kept");
  const back = choices({ format: 1, internet: DEFAULTS.internet }, ["internet"]);
  assert.deepEqual(back.internet, { kind: "kept" });
  // An uplink that is chosen is sent, with IPv6.
  const chosen: Choices = { format: 1, internet: { ...DEFAULTS.internet, kind: "dhcp" } };
  assert.deepEqual(choices(chosen, ["internet"]).internet, { kind: "dhcp", ipv6: true });
});

test("a number takes digits as long as it can be one", () => {
  assert.equal(digits("12a3", 4094), 123);
  assert.equal(digits("70000", 65_535), 7000);
  assert.equal(digits("x", 10), null);
  assert.deepEqual(list(" 1.1.1.1,  9.9.9.9\n"), ["1.1.1.1", "9.9.9.9"]);
});

/** Details of a detection without answers. */
const NOTHING: Details = {
  services: [],
  concentrators: [],
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
};

test("what was found out comes into the form", () => {
  const found: Suggestion = {
    internet: "pppoe",
    vlan: 7,
    details: { ...NOTHING, services: ["one", "two"] },
    lan: { former: "192.168.1.0/24", network: "192.168.7.0/24", why: "" },
    why: [],
    confident: true,
    open_questions: [],
  };
  const form = take(FORM, found);
  assert.equal(form.internet?.kind, "pppoe");
  assert.equal(form.internet?.vlan, 7);
  // The reader chooses between two services.
  assert.equal(form.internet?.service, "");
  assert.equal(form.internet?.username, "old");
  assert.equal(form.lan?.address, "192.168.7.1/24");
  assert.equal(form.lan?.count, 10);
  const one = { ...found, details: { ...NOTHING, services: ["one"] } };
  assert.equal(take(FORM, one).internet?.service, "one");
  const only6 = take(FORM, { ...found, internet: "dhcpv6-only", lan: null });
  assert.deepEqual([only6.internet?.kind, only6.internet?.ipv6], ["dhcp", true]);
  assert.equal(only6.lan, FORM.lan);
  assert.equal(take(FORM, { ...found, internet: "none" }), FORM);
  // A static network: its router is known, but not which address is free.
  const details = { ...NOTHING, gateway: "198.51.100.1", dns: ["198.51.100.2"] };
  const fixed = take(FORM, { ...found, internet: "static", details }).internet;
  assert.deepEqual([fixed?.address, fixed?.gateway], ["", "198.51.100.1"]);
  assert.deepEqual(fixed?.dns, ["198.51.100.2"]);
});

test("what is said of an element goes with it where another is removed", () => {
  set({
    kept: ["wifi.networks[0].key", "wifi.networks[2].key", "router.password"],
    touched: ["wifi.networks[1].ssid", "wifi.networks[11].ssid"],
    forgotten: [],
  });
  removed("wifi.networks", 1);
  assert.deepEqual(wizard.get().kept, [
    "wifi.networks[0].key",
    "wifi.networks[1].key",
    "router.password",
  ]);
  assert.deepEqual(wizard.get().touched, ["wifi.networks[10].ssid"]);
});

test("a place is where it is drawn, and moves with the keys", () => {
  assert.deepEqual(drawn({ north: 0, east: 0 }), { x: 360, y: 180 });
  assert.deepEqual(pointed(0, 0), { north: 90, east: -180 });
  assert.deepEqual(pointed(0.75, 0.25), { north: 45, east: 90 });
  assert.deepEqual(moved({ north: 90, east: 179.5 }, "ArrowRight", false), {
    north: 90,
    east: -179.5,
  });
  assert.equal(moved({ north: 90, east: 0 }, "ArrowUp", true)?.north, 90);
  assert.equal(moved({ north: 0, east: 0 }, "constructor", false), null);
  assert.deepEqual(writtenPlace({ north: 52.516312, east: -0.1 - 0.2 }), ["52.5163", "-0.3"]);
  assert.deepEqual(read(["52,5", " 13.4"]), { north: 52.5, east: 13.4 });
  for (const no of [["", ""], ["91", "0"], ["x", "1"], undefined] as const) {
    assert.equal(read(no), null);
  }
});

test("the difference is shown by file; the new address has a page", () => {
  const lines = ["network.lan.ipaddr", "wireless.radio0", "network.wan"].map((address) => ({
    added: true,
    address,
    value: "'x'",
    list: address === "network.wan",
  }));
  const groups = grouped(lines).map(({ name, lines: of }) => [name, ...of.map(written)]);
  assert.deepEqual(groups, [
    ["network", "network.lan.ipaddr='x'", "network.wan+='x'"],
    ["wireless", "wireless.radio0='x'"],
  ]);
  const here = { protocol: "https:", port: "8443" };
  assert.equal(pageAt("192.168.7.1", here), "https://192.168.7.1:8443/#/setup");
  assert.equal(pageAt("fd00::1", { ...here, port: "" }), "https://[fd00::1]/#/setup");
});

test("a password that is made has four kinds of signs, and is another each time", () => {
  const least = phrase(new Array(NUMBERS).fill(0));
  const most = phrase(new Array(NUMBERS).fill(2 ** 32 - 1));
  for (const made of [least, most]) {
    assert.match(made, /^[A-Z][a-z]{5}(-[a-z]{6}){3}-\d\d$/);
  }
  assert.notEqual(least, most);
  // Every number counts.
  for (let at = 0; at < NUMBERS; at += 1) {
    const numbers = new Array(NUMBERS).fill(0);
    numbers[at] = 2 ** 31;
    assert.notEqual(phrase(numbers), least, `${at}`);
  }
});

test("with radios, but no network, there is one to fill in", () => {
  const radio = (wpa3: boolean) => ({
    name: "radio0",
    bands: ["2g"],
    wpa3,
    mesh: true,
    apup: false,
  });
  const networks = (radios: boolean[], known: Network[] = []) =>
    begin({ format: 1, wifi: { networks: known } }, radios.map(radio)).wifi?.networks;
  assert.deepEqual(networks([true, true]), [{ ssid: "", security: "mixed", for: "lan" }]);
  assert.deepEqual(networks([true, false]), [{ ssid: "", security: "wpa2", for: "lan" }]);
  assert.deepEqual(networks([]), []);
  const known: Network = { ssid: "a", security: "open", for: "guest" };
  assert.deepEqual(networks([true], [known]), [known]);
});

test("countries by name, in the page's language: those that the router takes", () => {
  const list = readFileSync("../modules/setup/core/src/plan/countries.txt", "utf8");
  const router = list
    .trim()
    .split("\n")
    .map((line) => line.slice(0, 2));
  assert.deepEqual(CODES, router);
  const find = (language: string, code: string) =>
    countries(language, "").find(({ value }) => value === code)?.text;
  assert.equal(find("en", "DE"), "Germany (DE)");
  assert.equal(find("de", "DE"), "Deutschland (DE)");
  assert.equal(find("en", "GE"), "Georgia (GE)");
  assert.equal(find("en", "UK"), undefined);
  // The router's country remains an option, even if invalid.
  for (const odd of ["00", "ZZ", "?"]) {
    assert.ok(countries("en", odd).some(({ value }) => value === odd));
  }
  assert.equal(countries("ar", "DE").length, CODES.length);
});
