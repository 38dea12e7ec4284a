// Text in the reader's language, by keys that the compiler checks. Words that all views share are
// here; each module has its own beside its views. English is in the script. Other languages are
// files of their own, of which only the one in use is loaded (`../shell/preferences.ts`).
import { Format } from "../core/format";
import { Store } from "../core/store";
import { en } from "./en";

/** Forms of a plural that English has not. */
type Forms<K> = K extends `${infer P}.other` ? `${P}.${"zero" | "two" | "few" | "many"}` : never;

/**
 * The same keys in another language: what lacks one, or has one too many, does not compile. Where
 * English has two forms of a plural, it may have more.
 */
export type Translated<T> = Readonly<Record<keyof T, string>> &
  Readonly<Partial<Record<Forms<keyof T>, string>>>;

/** Each language by its own name. */
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

/** Which way a language is written. */
export const direction = (of: Language): "ltr" | "rtl" => (of === "ar" ? "rtl" : "ltr");

/** The first of the reader's languages that there is; else English. */
export function choose(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const primary = tag.toLowerCase().split("-")[0];
    if (isLanguage(primary)) return primary;
  }
  return "en";
}

/**
 * The reader's own tag for a language, with the region if there is one: it decides on how dates are
 * written. Digits are those that addresses are written with.
 */
export function localeFor(language: Language, wanted: readonly string[]): string {
  const own = wanted.find((tag) => tag.toLowerCase().split("-")[0] === language) ?? language;
  return language === "ar" && !own.includes("-u-") ? `${own}-u-nu-latn` : own;
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

/** Letters that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/**
 * A value as it stands in a text: one that goes the other way is isolated, so that it does not turn
 * what is around it (UAX 9: FSI and PDI).
 */
export function isolated(value: string | number, of: Language): string | number {
  if (typeof value === "number") return value;
  const other = direction(of) === "rtl" ? /[^\d.,\s]/.test(value) : RIGHT_TO_LEFT.test(value);
  return other ? `\u2068${value}\u2069` : value;
}

type Catalogue<K extends string = string> = Readonly<Record<K, string>>;

/** Where the texts of the frame stand in a language's file; a module's stand under its word. */
const FRAME = "frame";

/** What was loaded, by language, then by place. */
const learned = new Map<Language, Readonly<Record<string, Catalogue>>>();

/** Takes in the file of a language. */
export function learn(of: Language, texts: Readonly<Record<string, Catalogue>>): void {
  learned.set(of, texts);
}

/** Whether a language was loaded, or needs not be. */
export const isLearned = (of: Language): boolean => of === "en" || learned.has(of);

/** Whether there are texts of a module in the language of now; else they are English. */
export const speaks = (place: string): boolean =>
  language.get() === "en" || learned.get(language.get())?.[place] !== undefined;

/** How a view gets its texts. */
export interface Texts<K extends string> {
  /** Text of a key in the language of now. */
  readonly t: (key: K, values?: Readonly<Record<string, string | number>>) => string;
  /**
   * Text for a word that the daemon tells (`prefix.` + word); the word itself where the catalogue
   * has none.
   */
  readonly word: (
    prefix: string,
    told: string,
    values?: Readonly<Record<string, string | number>>,
  ) => string;
  /** Whether there is a text for such a word. */
  readonly knows: (prefix: string, told: string) => boolean;
  /** Text of the key's form for the number, which is `{count}` in it. */
  readonly plural: <P extends string>(
    key: `${P}.other` extends K ? P : never,
    count: number,
  ) => string;
}

function from<K extends string>(place: string, own: Catalogue<K>): Texts<K> {
  const told = (key: string): string | undefined =>
    learned.get(language.get())?.[Object.hasOwn(own, key) ? place : FRAME]?.[key];
  const english: Catalogue = { ...en, ...own };
  // `of` is the language that the text is in: English where another lacks it.
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
      // English tells `one` from `other`; another language may tell more, or less.
      const text =
        told(`${key}.${form}`) ?? learned.get(language.get())?.[place]?.[`${key}.${form}`];
      return text === undefined
        ? t(`${key}.${form === "one" ? "one" : "other"}` as K, values)
        : put(text, language.get(), values);
    },
  };
}

/** Texts of the frame, and words that all views share. */
export const { knows, t, word } = from<keyof typeof en>(FRAME, en);

/** Texts of a module, which is called so, and the words that all share. */
export function texts<K extends string>(
  place: string,
  own: Catalogue<K>,
): Texts<K | keyof typeof en> {
  return from<K | keyof typeof en>(place, own as Catalogue<K | keyof typeof en>);
}
