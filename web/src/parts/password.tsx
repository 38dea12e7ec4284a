import { useState } from "preact/hooks";
import { t } from "../text";

/** A field for a password, which can be shown: typing blindly on a telephone is no security. */
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
