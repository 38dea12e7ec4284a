// Translation of the router's sentences: pure. The router writes them in English, each by one of
// the templates of the English catalogue (`says.…`); unknown sentences stay in English.

/** A template: its key, and its pattern. */
interface Template {
  readonly word: string;
  readonly pattern: RegExp;
  readonly names: readonly string[];
}

/** Largest depth of nested sentences. */
const DEEPEST = 4;

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Templates of a catalogue; the most specific is tried first. */
export function templates(catalogue: Readonly<Record<string, string>>): Template[] {
  const all = Object.entries(catalogue).filter(([key]) => key.startsWith("says."));
  const plainLength = ([, text]: [string, string]) => text.replace(/\{\w+\}/g, "").length;
  return all
    .sort((one, other) => plainLength(other) - plainLength(one))
    .map(([key, text]) => ({
      word: key.slice("says.".length),
      names: [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ""),
      pattern: new RegExp(`^${escaped(text).replace(/\\\{\w+\\\}/g, "(.+?)")}$`, "is"),
    }));
}

export interface Words {
  /** Returns a sentence of the catalogue, with its values. */
  readonly say: (word: string, values: Readonly<Record<string, string>>) => string;
  /** Returns a text with its VLAN. */
  readonly within: (text: string, vlan: string) => string;
  /** Returns the word for a role. */
  readonly role: (word: string) => string;
}

function inner(text: string, all: readonly Template[], words: Words, depth: number): string | null {
  if (depth > DEEPEST) return null;
  for (const { word, pattern, names } of all) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const values: Record<string, string> = {};
    let whole = true;
    names.forEach((name, index) => {
      const value = match[index + 1] ?? "";
      const sentence = name === "why" ? said(value, all, words, depth + 1) : value;
      whole &&= sentence !== null;
      const known = name === "role" || name === "other" ? words.role(value) : sentence;
      values[name] = placed(known ?? value, words);
    });
    if (whole) return words.say(word, values);
  }
  return null;
}

/** Translates `02:00:…:01 in VLAN 7`. */
function placed(text: string, words: Words): string {
  const [, before, vlan] = /^(.+) in VLAN (\d+)$/s.exec(text) ?? [];
  return before === undefined || vlan === undefined ? text : words.within(before, vlan);
}

function said(text: string, all: readonly Template[], words: Words, depth: number): string | null {
  const found = inner(text, all, words, depth);
  if (found !== null) return found;
  const [, before, vlan] = /^(.+) in VLAN (\d+)$/s.exec(text) ?? [];
  if (before === undefined || vlan === undefined) return null;
  const rest = inner(before, all, words, depth);
  return rest === null ? null : words.within(rest, vlan);
}

/** The sentence in the reader's language; null if the catalogue lacks it. */
export function translated(
  sentence: string,
  all: readonly Template[],
  words: Words,
): string | null {
  const stop = sentence.endsWith(".");
  const found = said(stop ? sentence.slice(0, -1) : sentence, all, words, 0);
  if (found === null) return null;
  // An address at the beginning stays unchanged.
  const [first = ""] = found.split(" ");
  const isWord = /^\p{L}+[,:;]?$/u.test(first);
  const begin = isWord ? found.charAt(0).toLocaleUpperCase() + found.slice(1) : found;
  return stop ? `${begin}.` : begin;
}
