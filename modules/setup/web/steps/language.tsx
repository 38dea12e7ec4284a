import { useState } from "preact/hooks";
import { useStore } from "@/core/store";
import { Notice } from "@/parts/basic";
import { setLanguage } from "@/shell/preferences";
import { isLanguage, LANGUAGES, language } from "@/text";
import { DEFAULTS } from "../core/form";
import { Cards } from "../parts/fields";
import { change, wizard } from "../store";
import { t } from "../text";

/** Language of this page, and of the router's own. */
export function LanguageStep() {
  const { form } = useStore(wizard);
  const now = useStore(language);
  const [failed, setFailed] = useState(false);
  const choose = async (chosen: string) => {
    if (!isLanguage(chosen)) return;
    const there = await setLanguage(chosen);
    setFailed(!there);
    if (!there) return;
    const router = form.router ?? DEFAULTS.router;
    change({ router: { ...router, language: chosen } }, "router.language");
  };
  return (
    <>
      <p class="lead">{t("language.lead")}</p>
      <Cards
        path="router.language"
        label={t("language.which")}
        value={now}
        set={choose}
        options={Object.entries(LANGUAGES).map(([value, title]) => ({
          value,
          title,
          lang: value,
        }))}
      />
      <div aria-live="polite">
        {failed && <Notice kind="warn">{t("nav.language.failed")}</Notice>}
      </div>
    </>
  );
}
