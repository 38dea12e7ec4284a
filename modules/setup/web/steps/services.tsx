// Further services of the router: each in a group that can be opened.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useStore } from "@/core/store";
import { within } from "../core/steps";
import { wizard } from "../store";
import { t } from "../text";
import { FirewallGroup } from "./firewall";
import { DnsGroup, LanGroup } from "./lan";
import { MeshGroup } from "./mesh";
import { PlaceGroup } from "./place";
import { OpenVpnGroup, WireGuardGroup } from "./tunnels";

export function ServicesStep() {
  const { form } = useStore(wizard);
  const state = (on: boolean) => (on ? t("services.on") : t("services.off"));
  return (
    <>
      <p class="lead">{t("services.lead")}</p>
      <div class="groups">
        <Group part="lan" tag={form.lan?.address}>
          <LanGroup />
        </Group>
        <Group part="dns">
          <DnsGroup />
        </Group>
        <Group part="mesh" tag={state((form.mesh?.kind ?? "none") !== "none")}>
          <MeshGroup />
        </Group>
        <Group part="wireguard" tag={state(form.wireguard?.on === true)}>
          <WireGuardGroup />
        </Group>
        <Group part="openvpn" tag={state(form.openvpn?.on === true)}>
          <OpenVpnGroup />
        </Group>
        <Group part="firewall">
          <FirewallGroup />
        </Group>
        <Group part="place" field="router.place">
          <PlaceGroup />
        </Group>
      </div>
    </>
  );
}

/** A group that opens by itself if one of its fields has a problem. */
function Group(props: {
  part: "lan" | "dns" | "mesh" | "wireguard" | "openvpn" | "firewall" | "place";
  /** Path of its fields; else below `part`. */
  field?: string;
  tag?: string | undefined;
  children: ComponentChildren;
}) {
  const { plan } = useStore(wizard);
  const { part, field = part, tag, children } = props;
  const wrong = plan?.problems.some((problem) => within(field, problem.field)) === true;
  const [open, setOpen] = useState(wrong);
  useEffect(() => {
    // Never closes by itself: the user may be typing.
    if (wrong) setOpen(true);
  }, [wrong]);
  return (
    <details
      class="group"
      id={`group-${part}`}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <span class="group-title">{t(`services.${part}`)}</span>
        {wrong && <span class="tag bad">{t("setup.step.wrong")}</span>}
        {tag !== undefined && <span class="tag">{tag}</span>}
      </summary>
      <div class="group-body">{children}</div>
    </details>
  );
}
