// German.
import type { Translated } from ".";
import type { en } from "./en";

export const de: Translated<typeof en> = {
  "brand.tagline": "Wer das Netz nutzt",
  "nav.label": "Ansichten",
  "nav.menu": "Menü",
  "nav.skip": "Zum Inhalt springen",
  "nav.language": "Sprache",
  "nav.language.failed": "Diese Sprache ließ sich nicht laden. Versuchen Sie es noch einmal.",
  "nav.theme": "Darstellung",
  "nav.theme.auto": "Wie das System",
  "nav.theme.light": "Hell",
  "nav.theme.dark": "Dunkel",

  "common.received": "Empfangen",
  "common.sent": "Gesendet",
  "common.download": "Download",
  "common.upload": "Upload",
  "common.total": "Gesamt",
  "common.name": "Name",
  "common.address": "Adresse",
  "common.mac": "Hardware-Adresse",
  "common.port": "Anschluss",
  "common.share": "Anteil",
  "common.others": "Übrige",
  "common.none": "keine",
  "common.loading": "Wird geladen …",
  "common.retry": "Noch einmal",
  "common.more": "Mehr zeigen",
  "common.shown": "{shown} von {total}",
  "common.details": "Zahlen als Tabelle",
  "common.bytes": "Menge",
  "common.uplink": "Internetanschluss",

  "error.offline": "Der Router antwortet nicht.",
  "error.offline.hint": "Besteht die Verbindung zu ihm? Die Seite versucht es weiter.",
  "error.stale":
    "Der Router antwortet nicht; was Sie sehen, ist älter. Die Seite versucht es weiter.",
  "error.status": "Der Router hat mit Fehler {status} geantwortet.",
  "error.view": "In dieser Ansicht ist ein Fehler aufgetreten.",
  "error.view.hint": "Öffnen Sie sie noch einmal; kommt er wieder, melden Sie ihn bitte.",
  "error.unknown.title": "Hier ist nichts",
  "error.unknown": "Keine Ansicht hat diese Adresse. Wählen Sie eine aus der Navigation.",

  "login.title": "Anmelden",
  "login.password": "Passwort",
  "login.submit": "Anmelden",
  "login.first": "Passwort festlegen",
  "login.first.text":
    "Noch hat niemand ein Passwort festgelegt. Das erste geht hier, vom Router selbst aus, " +
    "oder dort mit dem Befehl weir passwd.",
  "login.first.elsewhere":
    "Noch hat niemand ein Passwort festgelegt. Wer an die Konsole des Routers kommt, kann das erste " +
    "hier mit einem Code festlegen; oder auf dem Router selbst mit dem Befehl weir passwd.",
  "login.code": "Code",
  "login.code.hint": "Die Konsole des Routers nennt ihn: weir passwd --claim",
  "login.new": "Neues Passwort",
  "login.repeat": "Neues Passwort noch einmal",
  "login.set": "Passwort festlegen",
  "login.short": "Mindestens 8 Zeichen.",
  "login.different": "Die beiden sind nicht gleich.",
  "login.show": "Zeigen",
  "login.out": "Abmelden",

  "chart.label":
    "{name}: jetzt Download {down}, Upload {up}; Höchstwerte der letzten {span}: Download " +
    "{peak_down}, Upload {peak_up}",
  "chart.peak": "höchstens {value}",
  "chart.keys": "Pfeiltasten links und rechts lesen einzelne Punkte.",
  "chart.point": "{time}: Download {down}, Upload {up}",
  "chart.waiting": "Die Linie wächst, solange diese Seite offen ist.",
};
