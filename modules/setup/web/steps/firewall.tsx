// Incoming access, and clients without outgoing access.
import { useStore } from "@/core/store";
import { changed, DEFAULTS } from "../core/form";
import { Item, Select, Text } from "../parts/fields";
import { change, removed, wizard } from "../store";
import { t } from "../text";
import type { Blocked, Firewall, Forward } from "../types";

const PROTOCOLS: readonly Forward["protocol"][] = ["tcp", "udp", "both"];

export function FirewallGroup() {
  const { form } = useStore(wizard);
  const firewall: Firewall = form.firewall ?? DEFAULTS.firewall;
  const { forwards, blocked } = firewall;
  const set = (part: Partial<Firewall>, field: string) =>
    change({ firewall: { ...firewall, ...part } }, `firewall.${field}`);
  const remove = (list: "forwards" | "blocked", index: number) => {
    removed(`firewall.${list}`, index);
    set({ [list]: changed<Forward | Blocked>(firewall[list], index, null) }, list);
  };
  return (
    <>
      <h3>{t("forwards.title")}</h3>
      {forwards.length === 0 && <p class="muted">{t("forwards.empty")}</p>}
      {forwards.map((forward, index) => (
        <ForwardItem
          key={index}
          forward={forward}
          index={index}
          set={(to, field) =>
            set({ forwards: changed(forwards, index, to) }, `forwards[${index}].${field}`)
          }
          remove={() => remove("forwards", index)}
        />
      ))}
      <p>
        <button
          type="button"
          class="button"
          onClick={() =>
            set({ forwards: [...forwards, { name: "", protocol: "tcp", port: "" }] }, "forwards")
          }
        >
          {t("forwards.add")}
        </button>
      </p>
      <h3>{t("blocked.title")}</h3>
      {blocked.length === 0 && <p class="muted">{t("blocked.empty")}</p>}
      {blocked.map((one, index) => (
        <Item
          key={index}
          name={one.name}
          number={index + 1}
          remove={() => remove("blocked", index)}
        >
          {(["name", "mac"] as const).map((field) => (
            <Text
              key={field}
              path={`firewall.blocked[${index}].${field}`}
              label={t(`blocked.${field}`)}
              machine={field === "mac"}
              value={one[field]}
              set={(value) =>
                set(
                  { blocked: changed(blocked, index, { ...one, [field]: value }) },
                  `blocked[${index}].${field}`,
                )
              }
            />
          ))}
        </Item>
      ))}
      <p>
        <button
          type="button"
          class="button"
          onClick={() => set({ blocked: [...blocked, { name: "", mac: "" }] }, "blocked")}
        >
          {t("blocked.add")}
        </button>
      </p>
    </>
  );
}

function ForwardItem(props: {
  forward: Forward;
  index: number;
  set: (to: Forward, field: string) => void;
  remove: () => void;
}) {
  const { forward, index, remove } = props;
  const path = (field: string) => `firewall.forwards[${index}].${field}`;
  const set = (part: Partial<Forward>, field: string) => props.set({ ...forward, ...part }, field);
  return (
    <Item name={forward.name} number={index + 1} remove={remove}>
      <Text
        path={path("name")}
        label={t("forwards.name")}
        value={forward.name}
        set={(name) => set({ name }, "name")}
      />
      <div class="pair">
        <Select
          path={path("protocol")}
          label={t("forwards.protocol")}
          value={forward.protocol}
          set={(protocol) => set({ protocol: protocol as Forward["protocol"] }, "protocol")}
          options={PROTOCOLS.map((value) => ({ value, text: t(`forwards.protocol.${value}`) }))}
        />
        <Text
          path={path("port")}
          label={t("forwards.port")}
          hint={t("forwards.port.hint")}
          machine
          value={forward.port}
          set={(port) => set({ port }, "port")}
        />
      </div>
      <div class="pair">
        <Text
          path={path("to")}
          label={t("forwards.to")}
          machine
          value={forward.to ?? ""}
          set={(to) => set({ to }, "to")}
        />
        <Text
          path={path("to_port")}
          label={t("forwards.to_port")}
          machine
          optional
          value={forward.to_port}
          set={(port) => set({ to_port: port }, "to_port")}
        />
      </div>
    </Item>
  );
}
