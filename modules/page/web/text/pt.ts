// Portuguese.
import type { Translated } from "@/text";
import type { en } from "./en";

export const pt: Translated<typeof en> = {
  "module.account": "Conta",
  "view.settings": "Definições",

  "settings.password": "Palavra-passe",
  "settings.old": "Palavra-passe atual",
  "settings.change": "Mudar a palavra-passe",
  "settings.changed": "A palavra-passe foi mudada.",
  "settings.about": "Sobre",
  "settings.version": "Versão do weir",
  "settings.uptime": "Em funcionamento há",
  "settings.modules": "Módulos",
  "settings.mode": "Modo",
  "mode.forward": "encaminha pacotes",
  "mode.shadow": "apenas compara (modo shadow)",
};
