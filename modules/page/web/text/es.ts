// Spanish.
import type { Translated } from "@/text";
import type { en } from "./en";

export const es: Translated<typeof en> = {
  "module.account": "Cuenta",
  "view.settings": "Ajustes",

  "settings.password": "Contraseña",
  "settings.old": "Contraseña actual",
  "settings.change": "Cambiar contraseña",
  "settings.changed": "La contraseña se ha cambiado.",
  "settings.about": "Acerca de",
  "settings.version": "Versión de weir",
  "settings.uptime": "En marcha desde hace",
  "settings.modules": "Módulos",
  "settings.mode": "Modo",
  "mode.forward": "reenvía paquetes",
  "mode.shadow": "solo compara (modo shadow)",
};
