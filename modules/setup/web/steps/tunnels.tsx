// Remote access by tunnels.
import type { ComponentChildren } from "preact";
import { useStore } from "@/core/store";
import { changed, DEFAULTS, moreClients } from "../core/form";
import { Check, Item, Numeric, Text } from "../parts/fields";
import { change, removed, wizard } from "../store";
import { t } from "../text";
import type { OpenVpn, WireGuard, WireGuardClient } from "../types";

const MOST_PORT = 65_535;

/** Common fields of both kinds of tunnel. */
function Tunnel<C extends { name: string }>(props: {
  part: "wireguard" | "openvpn";
  value: { on: boolean; port: number; endpoint?: string; clients?: C[] };
  set: (
    part: { on?: boolean; port?: number; endpoint?: string; clients?: C[] },
    field: string,
  ) => void;
  /** Fields of this kind only. */
  children: ComponentChildren;
  hint?: string;
  /** Further fields of a client. */
  more?: (client: C, index: number) => ComponentChildren;
}) {
  const { part, value, set, more } = props;
  const clients = value.clients ?? [];
  return (
    <>
      <Check
        path={`${part}.on`}
        label={t(`${part}.on`)}
        value={value.on}
        set={(on) => set({ on }, "on")}
      />
      {value.on && (
        <>
          <Numeric
            path={`${part}.port`}
            label={t("tunnel.port")}
            most={MOST_PORT}
            value={value.port}
            set={(port) => set({ port: port ?? 0 }, "port")}
          />
          {props.children}
          <Text
            path={`${part}.endpoint`}
            label={t("tunnel.endpoint")}
            hint={t("tunnel.endpoint.hint")}
            machine
            optional
            value={value.endpoint}
            set={(endpoint) => set({ endpoint }, "endpoint")}
          />
          <h3>{t("tunnel.clients")}</h3>
          {props.hint !== undefined && <p class="hint">{props.hint}</p>}
          {clients.map((client, index) => (
            <Item
              key={index}
              name={client.name}
              number={index + 1}
              remove={() => {
                removed(`${part}.clients`, index);
                set({ clients: changed(clients, index, null) }, "clients");
              }}
            >
              <Text
                path={`${part}.clients[${index}].name`}
                label={t("tunnel.client")}
                value={client.name}
                set={(name) =>
                  set(
                    { clients: changed(clients, index, { ...client, name }) },
                    `clients[${index}].name`,
                  )
                }
              />
              {more?.(client, index)}
            </Item>
          ))}
          <p>
            <button
              type="button"
              class="button"
              onClick={() => set({ clients: moreClients(clients) as C[] }, "clients")}
            >
              {t("setup.add")}
            </button>
          </p>
        </>
      )}
    </>
  );
}

export function WireGuardGroup() {
  const { form } = useStore(wizard);
  const wireguard = form.wireguard ?? DEFAULTS.wireguard;
  const set = (part: Partial<WireGuard>, field: string) =>
    change({ wireguard: { ...wireguard, ...part } }, `wireguard.${field}`);
  const clients = wireguard.clients ?? [];
  const text = (
    client: WireGuardClient,
    index: number,
    field: "address" | "public_key",
    label: string,
    hint: string,
  ) => (
    <Text
      path={`wireguard.clients[${index}].${field}`}
      label={label}
      hint={hint}
      machine
      optional
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
    <Tunnel
      part="wireguard"
      value={wireguard}
      set={set}
      more={(client, index) => (
        <>
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
        </>
      )}
    >
      <Text
        path="wireguard.address"
        label={t("wireguard.address")}
        machine
        value={wireguard.address}
        set={(address) => set({ address }, "address")}
      />
    </Tunnel>
  );
}

export function OpenVpnGroup() {
  const { form } = useStore(wizard);
  const openvpn = form.openvpn ?? DEFAULTS.openvpn;
  const set = (part: Partial<OpenVpn>, field: string) =>
    change({ openvpn: { ...openvpn, ...part } }, `openvpn.${field}`);
  return (
    <Tunnel part="openvpn" value={openvpn} set={set} hint={t("openvpn.client.hint")}>
      <Text
        path="openvpn.network"
        label={t("openvpn.network")}
        machine
        value={openvpn.network}
        set={(network) => set({ network }, "network")}
      />
    </Tunnel>
  );
}
