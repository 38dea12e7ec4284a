import { useState } from "preact/hooks";
import { useStore } from "../core/store";
import { Choice, Notice } from "../parts/basic";
import { LANGUAGES, type Language, language, t } from "../text";
import { setLanguage, setTheme, THEMES, type Theme, theme } from "./preferences";

/** Switch of the language. */
export function LanguageChoice({ id }: { id: string }) {
  const now = useStore(language);
  const [failed, setFailed] = useState(false);
  const options = Object.entries(LANGUAGES);
  return (
    <>
      <Choice
        id={id}
        label={t("nav.language")}
        value={now}
        options={options}
        choose={async (value) => setFailed(!(await setLanguage(value as Language)))}
      />
      {failed && (
        <div role="alert">
          <Notice kind="warn">{t("nav.language.failed")}</Notice>
        </div>
      )}
    </>
  );
}

/** Switch between light and dark. */
export function ThemeChoice({ id }: { id: string }) {
  const now = useStore(theme);
  const options = THEMES.map((name): [string, string] => [name, t(`nav.theme.${name}`)]);
  return (
    <Choice
      id={id}
      label={t("nav.theme")}
      value={now}
      options={options}
      choose={(value) => setTheme(value as Theme)}
    />
  );
}
