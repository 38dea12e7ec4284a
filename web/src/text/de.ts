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
  "problem.no_session": "Sie sind nicht angemeldet.",
  "problem.wrong_password": "Das Passwort ist falsch.",
  "problem.wrong_claim": "Der Code ist falsch.",
  "problem.weak_password":
    "Dieses Passwort ist zu leicht zu erraten. Nehmen Sie einige Wörter, die niemand zusammenstellen würde.",
  "problem.too_many_tries": "Es gab zu viele falsche Passwörter. Warten Sie ein wenig.",
  "problem.too_many": "Der Router hat zu viel zu tun. Versuchen Sie es gleich noch einmal.",
  "problem.busy": "Der Router ist beschäftigt. Versuchen Sie es gleich noch einmal.",
  "problem.not_local": "Das erste Passwort kann nur setzen, wer die Konsole des Routers hat.",
  "problem.password_changed": "Das Passwort wurde inzwischen geändert. Melden Sie sich neu an.",
  "problem.not_written":
    "Das gilt bis zum nächsten Start: Der Router kann es nicht auf seine Platte schreiben.",
  "problem.not_kept": "Der Router konnte das nicht schreiben; nichts wurde geändert.",
  "problem.no_daemon": "Der Dienst des Routers antwortet nicht.",
  "problem.internal": "Im Router ist ein Fehler aufgetreten. Sein Protokoll sagt mehr.",
  "problem.setup": "Die Einrichtung konnte das nicht ausführen.",
  "problem.setup_not_running": "Der Einrichtungsdienst läuft auf dem Router nicht.",
  "problem.setup_silent":
    "Der Einrichtungsdienst braucht zu lange. Sehen Sie gleich noch einmal nach.",
  "problem.no_history": "Der Router führt keinen Verlauf.",
  "problem.no_monitor": "Das Zählen ist auf diesem Router abgeschaltet.",
  "problem.no_port": "Der Router hat keinen solchen Anschluss.",
  "problem.no_device": "Der Router kennt kein solches Gerät.",
  "problem.no_voucher": "Es gibt keinen solchen Gutschein.",
  "problem.voucher_over": "Dieser Gutschein ist verbraucht.",
  "problem.wrong_picture": "Der Router kann dieses Bild nicht verwenden.",
  "problem.full": "Für mehr ist kein Platz.",
  "problem.waits": "Eine andere Änderung wartet auf Bestätigung.",
  "problem.nothing": "Keine Änderung wartet auf Bestätigung.",
  "problem.not_json": "Die Seite und der Router passen nicht zusammen. Laden Sie die Seite neu.",
  "problem.no_csrf": "Die Seite ist veraltet. Laden Sie sie neu.",
  "problem.too_long": "Das ist länger, als der Router annimmt.",

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
  "chart.waiting":
    "Das Diagramm beginnt, wenn Sie diese Seite öffnen, und füllt sich, solange sie offen bleibt.",
};
