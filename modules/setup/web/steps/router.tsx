// The router's name, its clock's zone and the administrator's password.
import { useState } from "preact/hooks";
import { useStore } from "@/core/store";
import { Meter } from "@/parts/basic";
import { Told } from "@/parts/told";
import { DEFAULTS } from "../core/form";
import { NUMBERS, phrase } from "../core/phrase";
import { Secret, Text } from "../parts/fields";
import { change, wizard } from "../store";
import { t } from "../text";
import type { Router } from "../types";

const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = (): string[] => {
  try {
    return Intl.supportedValuesOf("timeZone");
  } catch {
    return [];
  }
};

export function RouterStep() {
  const { form } = useStore(wizard);
  const [made, setMade] = useState(false);
  const router = form.router ?? DEFAULTS.router;
  const set = (part: Partial<Router>, field: string) =>
    change({ router: { ...router, ...part } }, `router.${field}`);
  const generate = () => {
    const password = phrase(crypto.getRandomValues(new Uint32Array(NUMBERS)));
    set({ password }, "password");
    setMade(true);
    const input = document.getElementById("setup-router-password");
    if (input instanceof HTMLInputElement && input.type === "password") {
      input.parentElement?.querySelector("button")?.click();
    }
  };
  return (
    <>
      <p class="lead">{t("router.lead")}</p>
      <Text
        path="router.name"
        label={t("router.name")}
        hint={t("router.name.hint")}
        machine
        value={router.name}
        set={(name) => set({ name }, "name")}
      />
      <div class="pair-button">
        <Text
          path="router.timezone"
          label={t("router.timezone")}
          hint={t("router.timezone.hint")}
          machine
          options={zones()}
          value={router.timezone}
          set={(timezone) => set({ timezone }, "timezone")}
        />
        {own !== undefined && own !== router.timezone && (
          <p>
            <button type="button" class="button" onClick={() => set({ timezone: own }, "timezone")}>
              {t("router.timezone.mine", { zone: own })}
            </button>
          </p>
        )}
      </div>
      {/* Lets password managers keep it under a name. */}
      <input type="text" name="username" value="root" autocomplete="username" hidden readOnly />
      <Secret
        path="router.password"
        label={t("router.password")}
        hint={t("router.password.hint")}
        fresh
        value={router.password}
        set={(password) => set({ password }, "password")}
      >
        <Strength typed={(router.password ?? "") !== ""} />
        <p>
          <button type="button" class="button" onClick={generate}>
            {t("router.generate")}
          </button>
        </p>
        <p class="hint" aria-live="polite">
          {made && t("router.generated")}
        </p>
      </Secret>
    </>
  );
}

const TONES = ["bad", "bad", "fair", "good", "good"];

/** Strength of the password, as the router estimates. */
function Strength({ typed }: { typed: boolean }) {
  const { plan } = useStore(wizard);
  const strength = typed ? plan?.strength : null;
  return (
    <div class="strength" aria-live="polite">
      {strength && (
        <>
          <Meter share={(strength.score + 1) / 5} kind={TONES[strength.score] ?? ""} />
          <p class="small">
            {t("strength.label")}: {t(`strength.${strength.score}` as "strength.0")}
          </p>
          {[strength.warning, ...strength.suggestions].map(
            (text) =>
              text && (
                <p class="hint" key={text}>
                  <Told text={text} />
                </p>
              ),
          )}
        </>
      )}
    </div>
  );
}
