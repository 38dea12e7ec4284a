import { useStore } from "../../../core/store";
import { setLanguage } from "../../../shell/preferences";
import { isLanguage, LANGUAGES, language } from "../../../text";
import { DEFAULTS } from "../core/form";
import { Cards } from "../parts/fields";
import { change, wizard } from "../store";
import { t } from "../text";

/** The language of this page, and of the router's own. */
export function LanguageStep() {
  const { form } = useStore(wizard);
  const now = useStore(language);
  const choose = (chosen: string) => {
    if (!isLanguage(chosen)) return;
    void setLanguage(chosen);
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
    </>
  );
}
