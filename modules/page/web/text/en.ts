// English: it defines the keys.
export const en = {
  "module.account": "Account",
  "view.settings": "Settings",

  "settings.password": "Password",
  "settings.old": "Current password",
  "settings.change": "Change password",
  "settings.changed": "The password was changed.",
  "settings.about": "About",
  "settings.version": "weir version",
  "settings.uptime": "Running for",
  "settings.modules": "Modules",
  "settings.mode": "Mode",
  "mode.forward": "forwards packets",
  "mode.shadow": "only compares (shadow mode)",
} as const;
