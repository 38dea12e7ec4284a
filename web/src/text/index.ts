// Text in the reader's language, by keys that the compiler checks. Words of all views are here;
// each module has its own beside its views. English is in the script. Other languages are separate
// files, loaded only when in use (`../shell/preferences.ts`).
import { Format } from "../core/format";
import { Store } from "../core/store";
import { en } from "./en";

/** Plural forms that English lacks. */
type Forms<K> = K extends `${infer P}.other` ? `${P}.${"zero" | "two" | "few" | "many"}` : never;

/**
 * The keys in another language: a missing or surplus key does not compile. A plural with two forms
 * in English may have more.
 */
export type Translated<T> = Readonly<Record<keyof T, string>> &
  Readonly<Partial<Record<Forms<keyof T>, string>>>;

/** Languages, each by its own name. */
export const LANGUAGES = {
  en: "English",
  de: "Deutsch",
  es: "Español",
  fr: "Français",
  it: "Italiano",
  pt: "Português",
  ar: "العربية",
};
export type Language = keyof typeof LANGUAGES;

export const isLanguage = (word: string | undefined | null): word is Language =>
  typeof word === "string" && Object.hasOwn(LANGUAGES, word);

/** Writing direction of a language. */
export const direction = (of: Language): "ltr" | "rtl" => (of === "ar" ? "rtl" : "ltr");

/** The first available language of the reader's; else English. */
export function choose(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const primary = tag.toLowerCase().split("-")[0];
    if (isLanguage(primary)) return primary;
  }
  return "en";
}

/**
 * The reader's own tag for a language, with the region if there is one: the tag decides the format
 * of dates. Digits are those of addresses.
 */
export function localeFor(language: Language, wanted: readonly string[]): string {
  const own = wanted.find((tag) => tag.toLowerCase().split("-")[0] === language) ?? language;
  return language === "ar" && !own.includes("-u-") ? `${own}-u-nu-latn` : own;
}

export const language = new Store<Language>("en");

const formats = new Map<Language, Format>();

/** Numbers and times in the current language. */
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
 * Text of a key, with `{name}` replaced by the given value. Values are inserted once and not
 * expanded again.
 */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return value === undefined ? whole : String(value);
  });
}

/** Letters of right-to-left scripts. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/**
 * A value for a text: one of the other direction is isolated, so that it does not turn the text
 * around it (UAX 9: FSI and PDI).
 */
export function isolated(value: string | number, of: Language): string | number {
  if (typeof value === "number") return value;
  const other = direction(of) === "rtl" ? /[^\d.,\s]/.test(value) : RIGHT_TO_LEFT.test(value);
  return other ? `\u2068${value}\u2069` : value;
}

type Catalogue<K extends string = string> = Readonly<Record<K, string>>;

/** Key of the frame's texts in a language's file; a module's key is its id. */
const FRAME = "frame";

/** Loaded texts, by language, then by place. */
const learned = new Map<Language, Readonly<Record<string, Catalogue>>>();

/** Adds the file of a language. */
export function learn(of: Language, texts: Readonly<Record<string, Catalogue>>): void {
  learned.set(of, texts);
}

/** True if a language is loaded, or needs no loading. */
export const isLearned = (of: Language): boolean => of === "en" || learned.has(of);

/** True if a module has texts in the current language; else they are English. */
export const speaks = (place: string): boolean =>
  language.get() === "en" || learned.get(language.get())?.[place] !== undefined;

/** Access of a view to its texts. */
export interface Texts<K extends string> {
  /** Text of a key in the current language. */
  readonly t: (key: K, values?: Readonly<Record<string, string | number>>) => string;
  /**
   * Text for a word of the daemon (`prefix.` + word); the word itself if the catalogue lacks it.
   */
  readonly word: (
    prefix: string,
    told: string,
    values?: Readonly<Record<string, string | number>>,
  ) => string;
  /** True if there is a text for such a word. */
  readonly knows: (prefix: string, told: string) => boolean;
  /** Text in the plural form for the number, which is `{count}` in the text. */
  readonly plural: <P extends string>(
    key: `${P}.other` extends K ? P : never,
    count: number,
  ) => string;
}

function from<K extends string>(place: string, own: Catalogue<K>): Texts<K> {
  const told = (key: string): string | undefined =>
    learned.get(language.get())?.[Object.hasOwn(own, key) ? place : FRAME]?.[key];
  const english: Catalogue = { ...en, ...own };
  // `of` is the language of the text: English if the reader's language lacks it.
  const put = (text: string, of: Language, values: Readonly<Record<string, string | number>>) => {
    const shown = Object.entries(values).map(([name, value]) => [name, isolated(value, of)]);
    return fill(text, Object.fromEntries(shown));
  };
  const t: Texts<K>["t"] = (key, values = {}) => {
    const text = told(key);
    return text === undefined
      ? put(english[key] ?? key, "en", values)
      : put(text, language.get(), values);
  };
  const knows: Texts<K>["knows"] = (prefix, word) => Object.hasOwn(english, `${prefix}.${word}`);
  return {
    t,
    knows,
    word: (prefix, word, values = {}) =>
      knows(prefix, word) ? t(`${prefix}.${word}` as K, values) : word,
    plural: (key, count) => {
      const form = new Intl.PluralRules(language.get()).select(count);
      const values = { count: format().count(count) };
      // English has the forms `one` and `other`; another language may have more, or fewer.
      const text =
        told(`${key}.${form}`) ?? learned.get(language.get())?.[place]?.[`${key}.${form}`];
      return text === undefined
        ? t(`${key}.${form === "one" ? "one" : "other"}` as K, values)
        : put(text, language.get(), values);
    },
  };
}

/** Texts of the frame, and words of all views. */
export const { knows, t, word } = from<keyof typeof en>(FRAME, en);

/** Texts of a module of this name, and the words of all views. */
export function texts<K extends string>(
  place: string,
  own: Catalogue<K>,
): Texts<K | keyof typeof en> {
  return from<K | keyof typeof en>(place, own as Catalogue<K | keyof typeof en>);
}
