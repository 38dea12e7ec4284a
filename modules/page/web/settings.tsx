import { useState } from "preact/hooks";
import { Failure, setPassword } from "@/api/client";
import { live } from "@/api/live";
import { useStore } from "@/core/store";
import { Card, Facts, Notice, Title } from "@/parts/basic";
import {
  NewPasswordFields,
  newPasswordProblem,
  PasswordField,
  PasswordProblem,
} from "@/parts/password";
import { format } from "@/text";
import { t, word } from "./text";

export function Settings() {
  const { status } = useStore(live);
  return (
    <>
      <Title text={t("view.settings")} />
      <div class="grid">
        <Card title={t("settings.password")} wide={6}>
          <ChangePassword />
        </Card>
        {status !== null && (
          <Card title={t("settings.about")} wide={6}>
            <Facts
              facts={[
                [t("settings.version"), status.version],
                [t("settings.uptime"), format().span(status.uptime_seconds)],
                [t("settings.modules"), status.modules.join(", ") || t("common.none")],
                [t("settings.mode"), word("mode", status.mode)],
              ]}
            />
          </Card>
        )}
      </div>
    </>
  );
}

function ChangePassword() {
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [again, setAgain] = useState("");
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Failure | "short" | "different" | "done" | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    const unfit = newPasswordProblem(fresh, again);
    if (unfit !== null) return setOutcome(unfit);
    setBusy(true);
    try {
      await setPassword(old, fresh);
      for (const set of [setOld, setFresh, setAgain]) set("");
      setOutcome("done");
    } catch (failure) {
      setOutcome(failure instanceof Failure ? failure : new Failure(0, "", ""));
    }
    setBusy(false);
  };
  return (
    <form class="form" onSubmit={submit}>
      <PasswordField
        id="old"
        label={t("settings.old")}
        value={old}
        set={setOld}
        autocomplete="current-password"
      />
      <NewPasswordFields
        id="new"
        fresh={fresh}
        setFresh={setFresh}
        again={again}
        setAgain={setAgain}
      />
      <div aria-live="polite">
        {outcome === "done" ? (
          <Notice kind="good">{t("settings.changed")}</Notice>
        ) : (
          <PasswordProblem problem={outcome} />
        )}
      </div>
      <button type="submit" class="button primary" aria-disabled={busy}>
        {t("settings.change")}
      </button>
    </form>
  );
}
