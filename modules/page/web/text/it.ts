// Italian.
import type { Translated } from "@/text";
import type { en } from "./en";

export const it: Translated<typeof en> = {
  "module.account": "Account",
  "view.settings": "Impostazioni",

  "settings.password": "Password",
  "settings.old": "Password attuale",
  "settings.change": "Cambia password",
  "settings.changed": "La password è stata cambiata.",
  "settings.about": "Informazioni",
  "settings.version": "Versione di weir",
  "settings.uptime": "In funzione da",
  "settings.modules": "Moduli",
  "settings.mode": "Modalità",
  "mode.forward": "inoltra i pacchetti",
  "mode.shadow": "confronta soltanto (modalità shadow)",
};
