// Text in the reader's language, by keys that the compiler checks. Words that all views share are
// here; each module has its own beside its views.
import { Format } from "../core/format";
import { Store } from "../core/store";
import { de } from "./de";
import { en } from "./en";

/** The same keys in another language: what lacks one, or has one too many, does not compile. */
export type Translated<T> = Readonly<Record<keyof T, string>>;

export const catalogues = { en, de };
export type Language = keyof typeof catalogues;

/** Each language by its own name. */
export const LANGUAGES: Record<Language, string> = { en: "English", de: "Deutsch" };

/** The first of the reader's languages that there is; else English. */
export function choose(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const primary = tag.toLowerCase().split("-")[0];
    if (primary !== undefined && Object.hasOwn(catalogues, primary)) return primary as Language;
  }
  return "en";
}

/**
 * The reader's own tag for a language, with the region if there is one: it decides on how dates are
 * written.
 */
export function localeFor(language: Language, wanted: readonly string[]): string {
  const own = wanted.find((tag) => tag.toLowerCase().split("-")[0] === language);
  return own ?? language;
}

export const language = new Store<Language>("en");

const formats = new Map<Language, Format>();

/** Numbers and times in the language of now. */
export function format(): Format {
  const now = language.get();
  let made = formats.get(now);
  if (made === undefined) {
    made = new Format(localeFor(now, typeof navigator === "undefined" ? [] : navigator.languages));
    formats.set(now, made);
  }
  return made;
}

/**
 * Text of a key; `{name}` in it becomes the value given. Values are put in once: what they hold is
 * not looked at again.
 */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return value === undefined ? whole : String(value);
  });
}

/** Texts under keys, in every language. */
type Catalogues<K extends string> = Readonly<Record<Language, Readonly<Record<K, string>>>>;

/** How a view gets its texts. */
export interface Texts<K extends string> {
  /** Text of a key in the language of now. */
  readonly t: (key: K, values?: Readonly<Record<string, string | number>>) => string;
  /**
   * Text for a word that the daemon tells (`prefix.` + word); the word itself where the catalogue
   * has none.
   */
  readonly word: (prefix: string, told: string) => string;
  /** Text of `key.one` or `key.other`, by the number, which is `{count}` in it. */
  readonly plural: <P extends string>(
    key: `${P}.other` extends K ? P : never,
    count: number,
  ) => string;
}

function from<K extends string>(all: Catalogues<K>): Texts<K> {
  const t: Texts<K>["t"] = (key, values = {}) => fill(all[language.get()][key], values);
  return {
    t,
    word: (prefix, told) => {
      const key = `${prefix}.${told}`;
      return Object.hasOwn(all.en, key) ? t(key as K) : told;
    },
    plural: (key, count) => {
      const form = new Intl.PluralRules(language.get()).select(count) === "one" ? "one" : "other";
      return t(`${key}.${form}` as K, { count: format().count(count) });
    },
  };
}

/** Texts of the frame, and words that all views share. */
export const { t } = from<keyof typeof en>(catalogues);

/** Texts of a module, and the words that all share. */
export function texts<K extends string>(own: Catalogues<K>): Texts<K | keyof typeof en> {
  return from({ en: { ...en, ...own.en }, de: { ...de, ...own.de } });
}
