// Arabic.
import type { Translated } from "@/text";
import type { en } from "./en";

export const ar: Translated<typeof en> = {
  "module.account": "الحساب",
  "view.settings": "الإعدادات",

  "settings.password": "كلمة المرور",
  "settings.old": "كلمة المرور الحالية",
  "settings.change": "تغيير كلمة المرور",
  "settings.changed": "تم تغيير كلمة المرور.",
  "settings.about": "حول",
  "settings.version": "إصدار weir",
  "settings.uptime": "يعمل منذ",
  "settings.modules": "الوحدات",
  "settings.mode": "الوضع",
  "mode.forward": "يمرّر الحزم",
  "mode.shadow": "يقارن فقط (وضع shadow)",
};
