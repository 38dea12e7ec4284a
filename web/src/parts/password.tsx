import { useState } from "preact/hooks";
import { Failure } from "../api/client";
import { t } from "../text";
import { Notice } from "./basic";
import { FailureNotice } from "./failure";

/** A password field that can show its text: blind typing on a telephone adds no security. */
export function PasswordField(props: {
  id: string;
  label: string;
  value: string;
  set: (value: string) => void;
  autocomplete: "current-password" | "new-password";
  hint?: string;
}) {
  const [shown, show] = useState(false);
  const { id, label, value, set, autocomplete, hint } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="joined">
        <input
          id={id}
          name={id}
          type={(shown ? "text" : "password") as "password"}
          value={value}
          required
          autocomplete={autocomplete}
          autocapitalize="none"
          spellcheck={false}
          maxLength={1024}
          aria-describedby={hint === undefined ? undefined : `${id}-hint`}
          onInput={(event) => set(event.currentTarget.value)}
        />
        <button
          type="button"
          class="button"
          aria-pressed={shown}
          aria-label={`${t("login.show")}: ${label}`}
          onClick={() => show(!shown)}
        >
          {t("login.show")}
        </button>
      </div>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** Reason to reject a new password; `null` if it is valid. */
export function newPasswordProblem(fresh: string, again: string): "short" | "different" | null {
  // Counted in characters, not UTF-16 units.
  if ([...fresh].length < 8) return "short";
  return fresh === again ? null : "different";
}

/** Two fields for a new password. */
export function NewPasswordFields(props: {
  id: string;
  fresh: string;
  setFresh: (value: string) => void;
  again: string;
  setAgain: (value: string) => void;
}) {
  const { id, fresh, setFresh, again, setAgain } = props;
  return (
    <>
      <PasswordField
        id={id}
        label={t("login.new")}
        value={fresh}
        set={setFresh}
        autocomplete="new-password"
        hint={t("login.short")}
      />
      <PasswordField
        id="again"
        label={t("login.repeat")}
        value={again}
        set={setAgain}
        autocomplete="new-password"
      />
    </>
  );
}

/** Result of a form with a password, for screen readers too. */
export function PasswordProblem({ problem }: { problem: Failure | "short" | "different" | null }) {
  if (problem === null) return null;
  if (problem instanceof Failure) return <FailureNotice failure={problem} />;
  return <Notice kind="warn">{t(`login.${problem}`)}</Notice>;
}
