// German.
import type { Translated } from "@/text";
import type { en } from "./en";

export const de: Translated<typeof en> = {
  "module.account": "Konto",
  "view.settings": "Einstellungen",

  "settings.password": "Passwort",
  "settings.old": "Aktuelles Passwort",
  "settings.change": "Passwort ändern",
  "settings.changed": "Das Passwort wurde geändert.",
  "settings.about": "Info",
  "settings.version": "weir-Version",
  "settings.uptime": "Laufzeit",
  "settings.modules": "Module",
  "settings.mode": "Betriebsart",
  "mode.forward": "leitet Pakete weiter",
  "mode.shadow": "vergleicht nur (Schattenbetrieb)",
};
