// Labels of a device: its name, its owner, and its kind.
import { useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { send } from "@/api/client";
import type { Device } from "@/api/types";
import { nameOf, plain } from "@/core/plain";
import { Card, Choice, Field, Notice } from "@/parts/basic";
import { FailureNotice } from "@/parts/failure";
import { kinds } from "./kinds";
import { t } from "./text";
import type { DeviceLabelled } from "./types";

/** Content of the fields: typed text, else the saved label. */
type Fields = { name: string; owner: string; icon: string };

const said = (device: Device): Fields => ({
  // The device's own name does not count as given by a user.
  name: ["given", "configuration"].includes(device.name_source ?? "")
    ? plain(device.name ?? "")
    : "",
  owner: plain(device.owner ?? ""),
  icon: device.icon ?? "",
});

export function LabelCard({ device }: { device: Device }) {
  const acting = useAction<DeviceLabelled>();
  const [typed, setTyped] = useState<Partial<Fields>>({});
  const now = { ...said(device), ...typed };
  const fixed = (field: string) => device.configured?.includes(field) ?? false;
  const type = (field: keyof Fields) => (value: string) =>
    setTyped((before) => ({ ...before, [field]: value }));
  const submit = (event: Event) => {
    event.preventDefault();
    // The router trims spaces: a name of spaces counts as empty.
    const sent = Object.fromEntries(Object.entries(typed).map(([key, text]) => [key, text.trim()]));
    setTyped(sent);
    if (Object.keys(sent).length > 0)
      void acting.run(() => send<DeviceLabelled>(`devices/${device.mac}/label`, sent));
  };
  const { busy, done, failure } = acting;
  const hint = (field: string, otherwise?: string) =>
    fixed(field) ? { hint: t("label.fixed") } : otherwise === undefined ? {} : { hint: otherwise };
  const itself =
    device.name !== null && said(device).name === ""
      ? t("label.itself", { name: nameOf(device) })
      : undefined;
  return (
    <Card title={t("label.title")}>
      <form class="label-form" onSubmit={submit}>
        <Field
          id="label-name"
          label={t("common.name")}
          value={now.name}
          set={type("name")}
          fixed={fixed("name")}
          {...hint("name", itself)}
        />
        <Field
          id="label-owner"
          label={t("label.owner")}
          value={now.owner}
          set={type("owner")}
          fixed={fixed("owner")}
          {...hint("owner")}
        />
        <Choice
          id="label-icon"
          label={t("label.kind")}
          value={now.icon}
          options={kinds()}
          choose={type("icon")}
          fixed={fixed("icon")}
        />
        <p class="buttons">
          <button type="submit" class="button" aria-disabled={busy}>
            {t("label.save")}
          </button>
        </p>
      </form>
      <div aria-live="polite" class="label-done">
        {done !== null && <Notice kind="good">{t("label.done")}</Notice>}
        {failure !== null && <FailureNotice failure={failure} />}
      </div>
    </Card>
  );
}
