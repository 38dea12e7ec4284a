import { useStore } from "@/core/store";
import { DEFAULTS, list } from "../core/form";
import { Addresses, Check, Numeric, Select, Text } from "../parts/fields";
import { change, wizard } from "../store";
import { t } from "../text";
import type { Dns, DnsServer, Lan } from "../types";

export function LanGroup() {
  const { form } = useStore(wizard);
  const lan = form.lan ?? DEFAULTS.lan;
  const set = (part: Partial<Lan>, field: string) =>
    change({ lan: { ...lan, ...part } }, `lan.${field}`);
  return (
    <>
      <Text
        path="lan.address"
        label={t("lan.address")}
        hint={t("lan.address.hint")}
        machine
        value={lan.address}
        set={(address) => set({ address }, "address")}
      />
      <Check
        path="lan.dhcp"
        label={t("lan.dhcp")}
        value={lan.dhcp}
        set={(dhcp) => set({ dhcp }, "dhcp")}
      />
      {lan.dhcp && (
        <>
          <div class="pair">
            <Numeric
              path="lan.first"
              label={t("lan.first")}
              most={99_999_999}
              value={lan.first}
              set={(first) => set({ first: first ?? 0 }, "first")}
            />
            <Numeric
              path="lan.count"
              label={t("lan.count")}
              most={99_999_999}
              value={lan.count}
              set={(count) => set({ count: count ?? 0 }, "count")}
            />
          </div>
          {lan.count > 0 && (
            <p class="hint">
              {t("lan.range", { first: lan.first, last: lan.first + lan.count - 1 })}
            </p>
          )}
          <Text
            path="lan.lease"
            label={t("lan.lease")}
            hint={t("lan.lease.hint")}
            machine
            value={lan.lease}
            set={(lease) => set({ lease }, "lease")}
          />
        </>
      )}
    </>
  );
}

const SERVERS: readonly DnsServer[] = [
  "provider",
  "quad9",
  "digitalegesellschaft",
  "mullvad",
  "cloudflare",
  "own",
];

export function DnsGroup() {
  const { form, setup } = useStore(wizard);
  // Other servers that the router uses already can stay.
  const known = setup?.choices.dns?.server;
  const servers = known === "kept" ? [known, ...SERVERS] : SERVERS;
  const dns = form.dns ?? DEFAULTS.dns;
  const set = (part: Partial<Dns>, field: string) =>
    change({ dns: { ...dns, ...part } }, `dns.${field}`);
  return (
    <>
      <Select
        path="dns.server"
        label={t("dns.server")}
        value={dns.server}
        set={(server) => set({ server: server as DnsServer }, "server")}
        options={servers.map((value) => ({ value, text: t(`dns.server.${value}`) }))}
      />
      {dns.server === "own" && (
        <Addresses
          path="dns.servers"
          label={t("dns.servers")}
          hint={t("internet.dns.hint")}
          value={dns.servers}
          set={(servers) => set({ servers }, "servers")}
          list={list}
        />
      )}
    </>
  );
}
