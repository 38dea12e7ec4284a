// Files that are shown once, and saved states of the router.
import { useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { plain } from "@/core/plain";
import { useStore } from "@/core/store";
import { Card, Notice } from "@/parts/basic";
import { FailureNotice } from "@/parts/failure";
import { QrCode } from "@/parts/qr";
import { format } from "@/text";
import { end, set, wizard } from "./store";
import { t } from "./text";
import type { ClientFile, Setup, SetupChange } from "./types";

export function Once() {
  const { applied } = useStore(wizard);
  const files = applied?.once ?? [];
  const done = () => {
    if (applied !== null) set({ applied: { ...applied, once: [] } });
  };
  if (files.length === 0) return null;
  return (
    <Card title={t("once.title")}>
      <p>{t("once.text")}</p>
      <ul class="once">
        {files.map((file) => (
          <ClientItem key={`${file.tunnel} ${file.name}`} file={file} />
        ))}
      </ul>
      <p class="foot">
        <button type="button" class="button" onClick={done}>
          {t("once.done")}
        </button>
      </p>
    </Card>
  );
}

/** A file name that is valid on every system and that its program recognises. */
const fileName = ({ name, tunnel }: ClientFile) =>
  `${name.replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 60) || "device"}.${
    tunnel === "openvpn" ? "ovpn" : "conf"
  }`;

/** Saves a text as a file, by a temporary link, so that the secret is in no address. */
function save(file: ClientFile): void {
  const url = URL.createObjectURL(new Blob([file.file], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName(file);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function ClientItem({ file }: { file: ClientFile }) {
  const name = plain(file.name);
  return (
    <li>
      <h3>
        <bdi>{name}</bdi>{" "}
        <span class="tag">{file.tunnel === "openvpn" ? "OpenVPN" : "WireGuard"}</span>
      </h3>
      {file.qr !== null && <QrCode label={t("once.qr", { name })} qr={file.qr} />}
      <button type="button" class="button" onClick={() => save(file)}>
        {t("once.save", { name })}
      </button>
    </li>
  );
}

export function States({ setup }: { setup: Setup }) {
  return (
    <Card title={t("states.title")} class="states">
      <p class="hint">{t("states.text")}</p>
      {setup.undone !== null && (
        <Notice kind="info">
          <p>
            {t("states.undone", {
              when: format().moment(setup.undone.when),
              who: plain(setup.undone.who),
            })}
          </p>
          <p>
            <bdi>{plain(setup.undone.why)}</bdi>
          </p>
        </Notice>
      )}
      {setup.states.length === 0 ? (
        <p class="nothing">{t("states.empty")}</p>
      ) : (
        <ol>
          {setup.states.map((change) => (
            <State key={change.number} change={change} />
          ))}
        </ol>
      )}
    </Card>
  );
}

function State({ change }: { change: SetupChange }) {
  const [sure, setSure] = useState(false);
  const { busy, failure, run } = useAction<void>();
  const why = plain(change.why);
  const revert = async () => {
    await run(() => end("revert", change.number));
    setSure(false);
  };
  return (
    <li class="state">
      <div>
        <p>
          <bdi>{why}</bdi>
        </p>
        <p class="hint">
          {t("states.by", { when: format().moment(change.when), who: plain(change.who) })}
        </p>
        {failure !== null && <FailureNotice failure={failure} />}
      </div>
      {sure ? (
        <div role="group" aria-label={t("states.sure")} class="buttons">
          <p>{t("states.sure")}</p>
          <button type="button" class="button" aria-disabled={busy} onClick={revert}>
            {t("setup.yes")}
          </button>
          <button type="button" class="button" onClick={() => setSure(false)}>
            {t("setup.no")}
          </button>
        </div>
      ) : (
        <button
          type="button"
          class="button"
          aria-label={t("states.revert.which", { why })}
          onClick={() => setSure(true)}
        >
          {t("states.revert")}
        </button>
      )}
    </li>
  );
}
