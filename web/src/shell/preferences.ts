// The reader's choices, stored in this browser: language and appearance.
import { Store } from "../core/store";
import { choose, direction, isLanguage, isLearned, type Language, language, learn } from "../text";

export type Theme = "auto" | "light" | "dark";
export const THEMES: readonly Theme[] = ["auto", "light", "dark"];

/** Longest wait for the texts of a language, ms. */
const PATIENCE = 20_000;

export const theme = new Store<Theme>("auto");

/**
 * Increases whenever colours change, by choice or by the system: drawings on a canvas must be
 * redrawn.
 */
export const colours = new Store(0);

// A browser may forbid storage: the choice then lasts as long as the page.
function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`weir.${name}`, value);
  } catch {}
}

function recall(name: string): string | null {
  try {
    return localStorage.getItem(`weir.${name}`);
  } catch {
    return null;
  }
}

function applyTheme(): void {
  const chosen = theme.get();
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  colours.set(colours.get() + 1);
}

function applyLanguage(): void {
  document.documentElement.lang = language.get();
  document.documentElement.dir = direction(language.get());
}

/** Loads a language's texts if necessary. The page's own document has their address. */
async function load(wanted: Language): Promise<boolean> {
  if (isLearned(wanted)) return true;
  const link = document.querySelector<HTMLLinkElement>(`link[rel=text][hreflang=${wanted}]`);
  try {
    const answer = await fetch(link?.href ?? "", { signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) return false;
    learn(wanted, await answer.json());
    return true;
  } catch {
    return false;
  }
}

export function setTheme(chosen: Theme): void {
  theme.set(chosen);
  remember("theme", chosen);
}

/** The language requested last: a late answer for an older request has no effect. */
let asked: Language = "en";

/** Changes the language when its texts have loaded; returns true on success. */
export async function setLanguage(chosen: Language): Promise<boolean> {
  asked = chosen;
  if (!(await load(chosen))) return false;
  if (asked === chosen) {
    language.set(chosen);
    remember("language", chosen);
  }
  return true;
}

/**
 * Reads the stored choices, or else the preferences of browser and system. Without the texts of
 * that language the page is in English.
 */
export async function startPreferences(): Promise<void> {
  theme.follow(applyTheme);
  language.follow(applyLanguage);
  const ownTheme = recall("theme");
  theme.set(THEMES.find((known) => known === ownTheme) ?? "auto");
  const ownLanguage = recall("language");
  applyTheme();
  asked = isLanguage(ownLanguage) ? ownLanguage : choose(navigator.languages);
  if (await load(asked)) language.set(asked);
  applyLanguage();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
}
