// English: it defines the keys.
export const en = {
  "module.account": "Account",
  "view.settings": "Settings",

  "settings.password": "Password",
  "settings.old": "Present password",
  "settings.change": "Change the password",
  "settings.changed": "The password is changed.",
  "settings.about": "About",
  "settings.version": "Version of weir",
  "settings.uptime": "Running for",
  "settings.modules": "Modules",
  "settings.mode": "Mode",
  "mode.forward": "forwards",
  "mode.shadow": "only compares (shadow)",
} as const;
