// Joining the mesh: another node by this router's code, or this router by another's.
import { useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { get, send } from "@/api/client";
import { useStore } from "@/core/store";
import { FailureNotice } from "@/parts/failure";
import { QrCode } from "@/parts/qr";
import { change, wizard } from "../store";
import { t } from "../text";
import type { Choices, Join } from "../types";

/** Reads another node's code, typed or pasted: its mesh goes into the form. */
export function JoinMesh() {
  const [document, setDocument] = useState("");
  const { busy, failure, run } = useAction();
  const take = () =>
    run(async () => {
      const { choices } = await send<{ choices: Choices }>("setup/read", { document });
      if (choices.mesh === undefined) return;
      change({ mesh: choices.mesh }, "mesh.kind");
      setDocument("");
    });
  return (
    <details class="join">
      <summary>{t("mesh.join")}</summary>
      <div class="field">
        <label for="join-document">{t("mesh.join.field")}</label>
        <textarea
          id="join-document"
          class="machine"
          dir="ltr"
          rows={6}
          autocomplete="off"
          spellcheck={false}
          value={document}
          aria-describedby="join-hint"
          onInput={(event) => setDocument(event.currentTarget.value)}
        />
        <p class="hint" id="join-hint">
          {t("mesh.join.hint")}
        </p>
      </div>
      {failure !== null && <FailureNotice failure={failure} />}
      <button type="button" class="button" aria-disabled={busy || document === ""} onClick={take}>
        {t("mesh.join.take")}
      </button>
    </details>
  );
}

/** Code of this router's own mesh: a secret, so it is shown only on demand. */
export function MeshCode() {
  const { setup } = useStore(wizard);
  const [join, setJoin] = useState<Join | null>(null);
  const { busy, failure, run } = useAction();
  if ((setup?.choices.mesh?.kind ?? "none") === "none") return null;
  const show = () => run(async () => setJoin(await get<Join>("setup/join")));
  return (
    <section aria-labelledby="mesh-code">
      <h3 id="mesh-code">{t("mesh.code")}</h3>
      <p class="hint">{t("mesh.code.text")}</p>
      {failure !== null && <FailureNotice failure={failure} />}
      {join === null ? (
        <button type="button" class="button" aria-disabled={busy} onClick={show}>
          {t("mesh.code.show")}
        </button>
      ) : (
        <>
          <QrCode label={t("mesh.code")} qr={join.qr} />
          <pre class="machine" dir="ltr">
            {join.document}
          </pre>
        </>
      )}
    </section>
  );
}
