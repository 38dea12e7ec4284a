// Portuguese.
import type { Translated } from "@/text";
import type { en } from "./en";

export const pt: Translated<typeof en> = {
  "module.account": "Conta",
  "view.settings": "Definições",

  "settings.password": "Senha",
  "settings.old": "Senha atual",
  "settings.change": "Mudar a senha",
  "settings.changed": "A senha foi mudada.",
  "settings.about": "Sobre",
  "settings.version": "Versão do weir",
  "settings.uptime": "Em funcionamento há",
  "settings.modules": "Módulos",
  "settings.mode": "Modo",
  "mode.forward": "encaminha",
  "mode.shadow": "apenas compara (shadow)",
};
