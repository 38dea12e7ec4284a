// What a reader chose, kept in this browser: language and appearance.
import { Store } from "../core/store";
import { catalogues, choose, type Language, language } from "../text";

export type Theme = "auto" | "light" | "dark";
export const THEMES: readonly Theme[] = ["auto", "light", "dark"];

export const theme = new Store<Theme>("auto");

/**
 * Raised whenever colours change, be it by choice or by the system: what draws on a canvas must
 * draw again.
 */
export const colours = new Store(0);

// A browser may forbid storage: then the choice lasts as long as the page.
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
}

export function setTheme(chosen: Theme): void {
  theme.set(chosen);
  remember("theme", chosen);
}

export function setLanguage(chosen: Language): void {
  language.set(chosen);
  remember("language", chosen);
}

/** Reads what was chosen before, or else what browser and system want. */
export function startPreferences(): void {
  theme.follow(applyTheme);
  language.follow(applyLanguage);
  const ownTheme = recall("theme");
  theme.set(THEMES.find((known) => known === ownTheme) ?? "auto");
  const ownLanguage = recall("language");
  const known = ownLanguage !== null && Object.hasOwn(catalogues, ownLanguage);
  language.set(known ? (ownLanguage as Language) : choose(navigator.languages));
  applyTheme();
  applyLanguage();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
}
