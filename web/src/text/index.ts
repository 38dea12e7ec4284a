// Text in the reader's language: one catalogue, keys checked by the compiler.
import { Format } from "../core/format";
import { Store } from "../core/store";
import { de } from "./de";
import { en } from "./en";

/** Every key of the catalogue. A key that is not there does not compile. */
export type Key = keyof typeof en;
/** A whole catalogue: one that lacks a key does not compile. */
export type Catalogue = Record<Key, string>;

export const catalogues = { en, de } as const satisfies Record<string, Catalogue>;
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

/** Text of a key in the language of now. */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  return fill(catalogues[language.get()][key], values);
}

/**
 * Text for a word that the daemon tells (`key prefix` + word); the word itself where the catalogue
 * has none.
 */
export function word(prefix: string, told: string): string {
  const key = `${prefix}.${told}`;
  return Object.hasOwn(en, key) ? t(key as Key) : told;
}

/** Text of `key.one` or `key.other`, by the number, which is `{count}` in it. */
export function plural<K extends string>(
  key: `${K}.other` extends Key ? K : never,
  count: number,
): string {
  const form = new Intl.PluralRules(language.get()).select(count) === "one" ? "one" : "other";
  return t(`${key}.${form}` as Key, { count: format().count(count) });
}
