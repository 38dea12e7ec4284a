// Ways in from afar.
import { useStore } from "../../../core/store";
import { changed, DEFAULTS, moreClients } from "../core/form";
import { Check, Item, Numeric, Text } from "../parts/fields";
import { change, removed, wizard } from "../store";
import { t } from "../text";
import type { OpenVpn, WireGuard, WireGuardClient } from "../types";

const MOST_PORT = 65_535;

export function WireGuardGroup() {
  const { form } = useStore(wizard);
  const wireguard = form.wireguard ?? DEFAULTS.wireguard;
  const set = (part: Partial<WireGuard>, field: string) =>
    change({ wireguard: { ...wireguard, ...part } }, `wireguard.${field}`);
  const clients = wireguard.clients ?? [];
  const text = (
    client: WireGuardClient,
    index: number,
    field: "name" | "address" | "public_key",
    label: string,
    hint?: string,
  ) => (
    <Text
      path={`wireguard.clients[${index}].${field}`}
      label={label}
      hint={hint}
      machine={field !== "name"}
      optional={field !== "name"}
      value={client[field]}
      set={(value) =>
        set(
          { clients: changed(clients, index, { ...client, [field]: value }) },
          `clients[${index}].${field}`,
        )
      }
    />
  );
  return (
    <>
      <Check
        path="wireguard.on"
        label={t("wireguard.on")}
        value={wireguard.on}
        set={(on) => set({ on }, "on")}
      />
      {wireguard.on && (
        <>
          <Numeric
            path="wireguard.port"
            label={t("wireguard.port")}
            most={MOST_PORT}
            value={wireguard.port}
            set={(port) => set({ port: port ?? 0 }, "port")}
          />
          <Text
            path="wireguard.address"
            label={t("wireguard.address")}
            machine
            value={wireguard.address}
            set={(address) => set({ address }, "address")}
          />
          <Text
            path="wireguard.endpoint"
            label={t("wireguard.endpoint")}
            hint={t("wireguard.endpoint.hint")}
            machine
            optional
            value={wireguard.endpoint}
            set={(endpoint) => set({ endpoint }, "endpoint")}
          />
          <h3>{t("wireguard.clients")}</h3>
          {clients.map((client, index) => (
            <Item
              key={index}
              name={client.name}
              number={index + 1}
              remove={() => {
                removed("wireguard.clients", index);
                set({ clients: changed(clients, index, null) }, "clients");
              }}
            >
              {text(client, index, "name", t("wireguard.client"))}
              {text(
                client,
                index,
                "address",
                t("wireguard.client.address"),
                t("wireguard.client.address.hint"),
              )}
              {text(
                client,
                index,
                "public_key",
                t("wireguard.client.key"),
                t("wireguard.client.key.hint"),
              )}
            </Item>
          ))}
          <p>
            <button
              type="button"
              class="button"
              onClick={() => change({ wireguard: moreClients(wireguard) }, "wireguard.clients")}
            >
              {t("setup.add")}
            </button>
          </p>
        </>
      )}
    </>
  );
}

export function OpenVpnGroup() {
  const { form } = useStore(wizard);
  const openvpn = form.openvpn ?? DEFAULTS.openvpn;
  const set = (part: Partial<OpenVpn>, field: string) =>
    change({ openvpn: { ...openvpn, ...part } }, `openvpn.${field}`);
  return (
    <>
      <Check
        path="openvpn.on"
        label={t("openvpn.on")}
        value={openvpn.on}
        set={(on) => set({ on }, "on")}
      />
      {openvpn.on && (
        <>
          <Numeric
            path="openvpn.port"
            label={t("openvpn.port")}
            most={MOST_PORT}
            value={openvpn.port}
            set={(port) => set({ port: port ?? 0 }, "port")}
          />
          <Text
            path="openvpn.network"
            label={t("openvpn.network")}
            machine
            value={openvpn.network}
            set={(network) => set({ network }, "network")}
          />
        </>
      )}
    </>
  );
}
