// French.
import type { Translated } from "@/text";
import type { en } from "./en";

export const fr: Translated<typeof en> = {
  "module.account": "Compte",
  "view.settings": "Réglages",

  "settings.password": "Mot de passe",
  "settings.old": "Mot de passe actuel",
  "settings.change": "Changer le mot de passe",
  "settings.changed": "Le mot de passe a été changé.",
  "settings.about": "À propos",
  "settings.version": "Version de weir",
  "settings.uptime": "En marche depuis",
  "settings.modules": "Modules",
  "settings.mode": "Mode",
  "mode.forward": "transmet les paquets",
  "mode.shadow": "compare seulement (mode shadow)",
};
