// English: the catalogue that defines the keys. Keys go by place, then by thing.
export const en = {
  "brand.tagline": "Who uses the network",
  "nav.label": "Views",
  "nav.menu": "Menu",
  "nav.skip": "Skip to the content",
  "nav.language": "Language",
  "nav.language.failed": "This language could not be loaded. Try again.",
  "nav.theme": "Appearance",
  "nav.theme.auto": "As the system",
  "nav.theme.light": "Light",
  "nav.theme.dark": "Dark",

  "common.received": "Received",
  "common.sent": "Sent",
  "common.download": "Download",
  "common.upload": "Upload",
  "common.total": "Total",
  "common.name": "Name",
  "common.address": "Address",
  "common.mac": "Hardware address",
  "common.port": "Port",
  "common.share": "Share",
  "common.others": "Others",
  "common.none": "none",
  "common.loading": "Loading …",
  "common.retry": "Try again",
  "common.more": "Show more",
  "common.shown": "{shown} of {total}",
  "common.details": "Figures as a table",
  "common.bytes": "Volume",
  "common.uplink": "Uplink",

  "error.offline": "The router does not answer.",
  "error.offline.hint": "Is the connection to it there? The page keeps trying.",
  "error.stale": "The router does not answer; what you see is older. The page keeps trying.",
  "error.status": "The router answered with error {status}.",
  "error.view": "This view met with an error.",
  "error.view.hint": "Open it again; if it comes back, please report it.",
  "error.unknown.title": "There is nothing here",
  "error.unknown": "No view has this address. Choose one from the navigation.",

  "login.title": "Log in",
  "login.password": "Password",
  "login.submit": "Log in",
  "login.first": "Set a password",
  "login.first.text":
    "Nobody has set a password yet. The first one can be set here, from the router itself, or " +
    "there by the command weir passwd.",
  "login.first.elsewhere":
    "Nobody has set a password yet. The first one is set on the router itself: by the command " +
    "weir passwd, or by this page through ssh -L.",
  "login.new": "New password",
  "login.repeat": "New password again",
  "login.set": "Set the password",
  "login.short": "At least 8 characters.",
  "login.different": "The two are not the same.",
  "login.show": "Show",
  "login.out": "Log out",

  "chart.label":
    "{name}: download {down}, upload {up} now; highest of the last {span}: download " +
    "{peak_down}, upload {peak_up}",
  "chart.peak": "highest {value}",
  "chart.keys": "Left and right arrow keys read single points.",
  "chart.point": "{time}: download {down}, upload {up}",
  "chart.waiting": "The line grows while this page is open.",
} as const;
