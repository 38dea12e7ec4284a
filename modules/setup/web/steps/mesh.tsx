import { useStore } from "@/core/store";
import { DEFAULTS } from "../core/form";
import { Check, Checks, Numeric, Secret, Select, Text } from "../parts/fields";
import { change, wizard } from "../store";
import { t } from "../text";
import type { Mesh } from "../types";
import { JoinMesh, MeshCode } from "./join";
import { radioName } from "./wifi";

export function MeshGroup() {
  const { form, setup } = useStore(wizard);
  const mesh = form.mesh ?? DEFAULTS.mesh;
  const set = (part: Partial<Mesh>, field: string) =>
    change({ mesh: { ...mesh, ...part } }, `mesh.${field}`);
  const radios = setup?.radios ?? [];
  const can = {
    none: radios,
    batman: radios.filter((radio) => radio.mesh),
    apup: radios.filter((radio) => radio.apup),
  };
  const cannot = (["batman", "apup"] as const)
    .filter((kind) => can[kind].length === 0)
    .map((kind) => t(`mesh.cannot.${kind}`));
  return (
    <>
      <p class="hint">{t("mesh.text")}</p>
      <JoinMesh />
      <Select
        path="mesh.kind"
        label={t("mesh.kind")}
        hint={cannot.length === 0 ? undefined : cannot.join(" ")}
        value={mesh.kind}
        set={(kind) => set({ kind: kind as Mesh["kind"] }, "kind")}
        options={(["none", "batman", "apup"] as const).map((value) => ({
          value,
          text: t(`mesh.kind.${value}`),
          off: value !== "none" && can[value].length === 0,
        }))}
      />
      {mesh.kind !== "none" && (
        <>
          <Text
            path="mesh.name"
            label={t("mesh.name")}
            value={mesh.name}
            set={(name) => set({ name }, "name")}
          />
          <Secret
            path="mesh.key"
            label={t("mesh.key")}
            value={mesh.key}
            set={(key) => set({ key }, "key")}
          />
          <Numeric
            path="mesh.channel"
            label={t("mesh.channel")}
            optional
            most={999}
            value={mesh.channel}
            set={(channel) => set({ channel }, "channel")}
          />
          {can[mesh.kind].length > 1 && (
            <Checks
              path="mesh.radios"
              label={t("wifi.radios")}
              hint={t("wifi.radios.hint")}
              value={mesh.radios ?? []}
              set={(names) => set({ radios: names }, "radios")}
              options={can[mesh.kind].map((radio) => [radio.name, radioName(radio)] as const)}
            />
          )}
          {mesh.kind === "batman" && (
            <Check
              path="mesh.gateway"
              label={t("mesh.gateway")}
              value={mesh.gateway === true}
              set={(gateway) => set({ gateway }, "gateway")}
            />
          )}
        </>
      )}
      <MeshCode />
    </>
  );
}
