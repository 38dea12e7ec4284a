import { plain } from "@/core/plain";
import { useStore } from "@/core/store";
import { Notice } from "@/parts/basic";
import { language } from "@/text";
import { countries } from "../core/countries";
import { changed, DEFAULTS, newNetwork } from "../core/form";
import { Check, Checks, Item, Secret, Select, Text } from "../parts/fields";
import { change, removed, wizard } from "../store";
import { t, word } from "../text";
import type { Network, Radio, Security, Wifi } from "../types";

const SECURITY: readonly Security[] = ["mixed", "wpa3", "wpa2", "owe", "open"];
const NEEDS_WPA3: readonly Security[] = ["mixed", "wpa3", "owe"];

export function WifiStep() {
  const { form, setup } = useStore(wizard);
  const radios = setup?.radios ?? [];
  const wifi: Wifi = form.wifi ?? DEFAULTS.wifi;
  const { networks } = wifi;
  if (radios.length === 0) return <Notice kind="info">{t("wifi.none")}</Notice>;
  // Another encryption of an existing network can stay.
  const kept = setup?.choices.wifi?.networks.some(({ security }) => security === "kept") ?? false;
  const securities: readonly Security[] = kept ? ["kept", ...SECURITY] : SECURITY;
  const set = (part: Partial<Wifi>, field: string) =>
    change({ wifi: { ...wifi, ...part } }, `wifi.${field}`);
  const add = (whom: Network["for"]) => {
    set({ networks: [...networks, newNetwork(radios, whom)] }, "networks");
    const id = `setup-wifi-networks-${networks.length}-ssid`;
    setTimeout(() => document.getElementById(id)?.focus());
  };
  return (
    <>
      <p class="lead">{t("wifi.lead")}</p>
      <Select
        path="wifi.country"
        label={t("wifi.country")}
        hint={t("wifi.country.hint")}
        value={wifi.country ?? ""}
        options={[
          { value: "", text: t("wifi.country.none") },
          ...countries(useStore(language), wifi.country ?? ""),
        ]}
        set={(country) => set({ country }, "country")}
      />
      <h3 class="networks-title">{t("wifi.networks")}</h3>
      {networks.length === 0 && <p class="muted">{t("wifi.empty")}</p>}
      {networks.map((network, index) => (
        <NetworkItem
          key={index}
          network={network}
          index={index}
          radios={radios}
          securities={securities}
          set={(to, field) =>
            set({ networks: changed(networks, index, to) }, `networks[${index}].${field}`)
          }
          remove={() => {
            removed("wifi.networks", index);
            set({ networks: changed(networks, index, null) }, "networks");
          }}
        />
      ))}
      <p class="buttons">
        <button type="button" class="button" onClick={() => add("lan")}>
          {t("wifi.add")}
        </button>
        <button type="button" class="button" onClick={() => add("guest")}>
          {t("wifi.guest")}
        </button>
      </p>
    </>
  );
}

/** Name such as `radio0 (2.4 GHz)`. */
export const radioName = ({ name, bands }: Radio) =>
  t("wifi.radio", {
    name: plain(name),
    bands: bands.map((band) => word("wifi.band", band)).join(", "),
  });

function NetworkItem(props: {
  network: Network;
  index: number;
  radios: readonly Radio[];
  securities: readonly Security[];
  set: (to: Network, field: string) => void;
  remove: () => void;
}) {
  const { network, index, radios, securities, remove } = props;
  const path = (field: string) => `wifi.networks[${index}].${field}`;
  const set = (part: Partial<Network>, field: string) => props.set({ ...network, ...part }, field);
  const chosen = network.radios ?? [];
  // Radios that send the network: all, if none is named.
  const used = chosen.length === 0 ? radios : radios.filter(({ name }) => chosen.includes(name));
  const without = used.filter(({ wpa3 }) => !wpa3);
  return (
    <Item name={network.ssid} number={index + 1} remove={remove}>
      <Text
        path={path("ssid")}
        label={t("wifi.ssid")}
        value={network.ssid}
        set={(ssid) => set({ ssid }, "ssid")}
      />
      <Select
        path={path("for")}
        label={t("wifi.for")}
        value={network.for}
        set={(whom) => set({ for: whom as Network["for"] }, "for")}
        options={(["lan", "guest"] as const).map((value) => ({
          value,
          text: t(`wifi.for.${value}`),
        }))}
      />
      <Select
        path={path("security")}
        label={t("wifi.security")}
        hint={
          without.length === 0
            ? undefined
            : t("wifi.nowpa3", { radio: without.map(({ name }) => name).join(", ") })
        }
        value={network.security}
        set={(security) => set({ security: security as Security }, "security")}
        options={securities.map((value) => ({
          value,
          text: t(`wifi.security.${value}`),
          off: without.length > 0 && NEEDS_WPA3.includes(value),
        }))}
      />
      {network.security !== "open" && network.security !== "owe" && (
        <Secret
          path={path("key")}
          label={t("wifi.key")}
          hint={t("wifi.key.hint")}
          value={network.key}
          set={(key) => set({ key }, "key")}
        />
      )}
      {radios.length > 1 && (
        <Checks
          path={path("radios")}
          label={t("wifi.radios")}
          hint={t("wifi.radios.hint")}
          value={chosen}
          set={(names) => set({ radios: names }, "radios")}
          options={radios.map((radio) => [radio.name, radioName(radio)] as const)}
        />
      )}
      <Check
        path={path("roaming")}
        label={t("wifi.roaming")}
        value={network.roaming === true}
        set={(roaming) => set({ roaming }, "roaming")}
      />
      <Check
        path={path("hidden")}
        label={t("wifi.hidden")}
        value={network.hidden === true}
        set={(hidden) => set({ hidden }, "hidden")}
      />
    </Item>
  );
}
