// German.
import type { Translated } from "@/text";
import type { en } from "./en";

export const de: Translated<typeof en> = {
  "module.account": "Konto",
  "view.settings": "Einstellungen",

  "settings.password": "Passwort",
  "settings.old": "Bisheriges Passwort",
  "settings.change": "Passwort ändern",
  "settings.changed": "Das Passwort ist geändert.",
  "settings.about": "Über",
  "settings.version": "Version von weir",
  "settings.uptime": "Läuft seit",
  "settings.modules": "Module",
  "settings.mode": "Betriebsart",
  "mode.forward": "leitet weiter",
  "mode.shadow": "vergleicht nur (Schatten)",
};
