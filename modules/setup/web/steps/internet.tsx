// Kind of Internet access. Shows only fields of the selected kind.
import { useStore } from "@/core/store";
import { DEFAULTS, list } from "../core/form";
import { Addresses, Cards, Check, Numeric, Secret, Select, Text } from "../parts/fields";
import { change, wizard } from "../store";
import { t } from "../text";
import type { Internet, Uplink } from "../types";
import { Detect } from "./detect";

const KINDS: readonly Uplink[] = ["dhcp", "pppoe", "static", "mobile", "wifi", "none"];

/** Kinds over a cable, which may use a VLAN. */
const WIRED: readonly Uplink[] = ["dhcp", "pppoe", "static"];

type Words = "address" | "gateway" | "username" | "service" | "apn" | "modem" | "ssid";

export function InternetStep() {
  const { form, setup } = useStore(wizard);
  const internet = form.internet ?? DEFAULTS.internet;
  const { kind } = internet;
  const set = (part: Partial<Internet>, field: string) =>
    change({ internet: { ...internet, ...part } }, `internet.${field}`);
  const text = (
    field: Words,
    more: { hint?: string; optional?: boolean; machine?: boolean } = {},
  ) => (
    <Text
      path={`internet.${field}`}
      label={t(`internet.${field}`)}
      value={internet[field]}
      set={(value) => set({ [field]: value }, field)}
      {...more}
    />
  );
  const secret = (field: "password" | "key" | "pin") => (
    <Secret
      path={`internet.${field}`}
      label={t(`internet.${field}`)}
      value={internet[field]}
      set={(value) => set({ [field]: value }, field)}
    />
  );
  const radios = setup?.radios ?? [];
  // Another protocol of the router can stay. So can a router without an uplink.
  const known = (setup?.choices.internet ?? DEFAULTS.internet).kind;
  const kinds = known === "kept" ? [known, ...KINDS] : KINDS;
  return (
    <>
      <p class="lead">{t("internet.lead")}</p>
      <Detect />
      <Cards
        path="internet.kind"
        label={t("internet.kind")}
        value={kind}
        set={(chosen) => set({ kind: chosen as Uplink }, "kind")}
        options={kinds
          .filter((one) => one !== "wifi" || radios.length > 0)
          .map((one) => ({
            value: one,
            title: t(`internet.kind.${one}`),
            text: t(`internet.about.${one}`),
          }))}
      />
      {kind === "static" && (
        <>
          {text("address", { hint: t("internet.address.hint"), machine: true })}
          {text("gateway", { machine: true })}
          <Addresses
            path="internet.dns"
            label={t("internet.dns")}
            hint={t("internet.dns.hint")}
            value={internet.dns}
            set={(dns) => set({ dns }, "dns")}
            list={list}
          />
        </>
      )}
      {kind === "mobile" && (
        <>
          {text("apn", { hint: t("internet.apn.hint"), machine: true })}
          {secret("pin")}
          {text("modem", { hint: t("internet.modem.hint"), machine: true, optional: true })}
        </>
      )}
      {(kind === "pppoe" || kind === "mobile") && (
        <>
          {text("username", { machine: true, optional: kind === "mobile" })}
          {secret("password")}
        </>
      )}
      {kind === "pppoe" &&
        text("service", { hint: t("internet.service.hint"), machine: true, optional: true })}
      {kind === "wifi" && (
        <>
          {text("ssid")}
          {secret("key")}
          <Select
            path="internet.radio"
            label={t("internet.radio")}
            value={internet.radio ?? ""}
            set={(radio) => set({ radio }, "radio")}
            options={[{ value: "", text: "–" }].concat(
              radios.map(({ name }) => ({ value: name, text: name })),
            )}
          />
        </>
      )}
      {WIRED.includes(kind) && (
        <Numeric
          path="internet.vlan"
          label={t("internet.vlan")}
          hint={t("internet.vlan.hint")}
          optional
          most={9999}
          value={internet.vlan}
          set={(vlan) => set({ vlan }, "vlan")}
        />
      )}
      {kind !== "none" && kind !== "kept" && (
        <Check
          path="internet.ipv6"
          label={t("internet.ipv6")}
          value={internet.ipv6}
          set={(ipv6) => set({ ipv6 }, "ipv6")}
        />
      )}
    </>
  );
}
