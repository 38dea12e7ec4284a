import { useEffect, useState } from "preact/hooks";
import { Failure, logIn, session, setPassword } from "../api/client";
import { Field } from "../parts/basic";
import {
  NewPasswordFields,
  newPasswordProblem,
  PasswordField,
  PasswordProblem,
} from "../parts/password";
import { t } from "../text";
import { LanguageChoice, ThemeChoice } from "./choices";
import { Brand } from "./icons";

/** Login; if no password is set yet, the form to set it. */
export function LogIn({ first, local }: { first: boolean; local: boolean }) {
  const title = first ? t("login.first") : t("login.title");
  const [password, setPasswordText] = useState("");
  const [again, setAgain] = useState("");
  const [code, setCode] = useState("");
  const claims = first && !local;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Failure | "short" | "different" | null>(null);
  useEffect(() => {
    document.title = `${title} · weir`;
  }, [title]);
  useEffect(() => {
    document.getElementById(claims ? "code" : "password")?.focus();
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    const unfit = first ? newPasswordProblem(password, again) : null;
    if (unfit !== null) return setProblem(unfit);
    setBusy(true);
    try {
      if (first) {
        await setPassword(null, password, claims ? code : undefined);
      }
      // The server decides whether setting a password also logs in.
      if (session.get()?.user !== true) await logIn(password);
    } catch (failure) {
      const told = failure instanceof Failure ? failure : new Failure(0, "", "");
      setProblem(told);
      // A user who mistyped the code keeps the password.
      const wrong = told.error === "wrong_claim" ? "code" : "password";
      if (wrong === "password") {
        setPasswordText("");
        setAgain("");
      }
      document.getElementById(wrong)?.focus();
    }
    setBusy(false);
  };
  return (
    <div class="door">
      <main class="card door-card">
        <div class="brand">
          <Brand />
          <span>weir</span>
        </div>
        <p class="muted">{t("brand.tagline")}</p>
        <h1 tabIndex={-1}>{title}</h1>
        {first && <p>{local ? t("login.first.text") : t("login.first.elsewhere")}</p>}
        <form class="form" onSubmit={submit}>
          {/* Lets password managers keep it under a name. */}
          <input type="text" name="username" value="weir" autocomplete="username" hidden readOnly />
          {claims && (
            <Field
              id="code"
              label={t("login.code")}
              hint={t("login.code.hint")}
              value={code}
              set={setCode}
            />
          )}
          {first ? (
            <NewPasswordFields
              id="password"
              fresh={password}
              setFresh={setPasswordText}
              again={again}
              setAgain={setAgain}
            />
          ) : (
            <PasswordField
              id="password"
              label={t("login.password")}
              value={password}
              set={setPasswordText}
              autocomplete="current-password"
            />
          )}
          <div aria-live="polite">
            <PasswordProblem problem={problem} />
          </div>
          <button type="submit" class="button primary" aria-disabled={busy}>
            {first ? t("login.set") : t("login.submit")}
          </button>
        </form>
      </main>
      <footer class="door-foot">
        <LanguageChoice id="language" />
        <ThemeChoice id="theme" />
      </footer>
    </div>
  );
}
