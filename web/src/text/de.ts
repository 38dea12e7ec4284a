// German.
import type { Translated } from ".";
import type { en } from "./en";

export const de: Translated<typeof en> = {
  "brand.tagline": "Sehen Sie, wer Ihr Netz nutzt",
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
  "common.mac": "MAC-Adresse",
  "common.port": "Anschluss",
  "common.share": "Anteil",
  "common.others": "Übrige",
  "common.none": "keine",
  "common.loading": "Wird geladen …",
  "common.retry": "Erneut versuchen",
  "common.more": "Mehr anzeigen",
  "common.shown": "{shown} von {total}",
  "common.details": "Zahlen als Tabelle",
  "common.bytes": "Menge",
  "common.uplink": "Uplink",

  "error.offline": "Der Router antwortet nicht.",
  "error.offline.hint": "Prüfen Sie die Verbindung zum Router. Die Seite versucht es weiter.",
  "error.stale":
    "Der Router antwortet nicht; diese Seite zeigt ältere Daten und versucht es weiter.",
  "error.status": "Der Router hat mit Fehler {status} geantwortet.",
  "error.view": "In dieser Ansicht ist ein Fehler aufgetreten.",
  "error.view.hint":
    "Öffnen Sie die Ansicht noch einmal. Tritt der Fehler wieder auf, melden Sie ihn bitte.",
  "error.unknown.title": "Seite nicht gefunden",
  "error.unknown": "Unter dieser Adresse gibt es keine Ansicht. Wählen Sie eine Ansicht im Menü.",
  "problem.no_session": "Sie sind nicht angemeldet.",
  "problem.wrong_password": "Das Passwort ist falsch.",
  "problem.wrong_claim": "Der Code ist falsch.",
  "problem.weak_password":
    "Dieses Passwort ist zu leicht zu erraten. Nehmen Sie mehrere Wörter ohne Zusammenhang.",
  "problem.too_many_tries": "Zu viele falsche Passwörter. Versuchen Sie es später noch einmal.",
  "problem.too_many": "Das sind zu viele auf einmal. Wählen Sie weniger.",
  "problem.busy": "Der Router ist beschäftigt. Versuchen Sie es gleich noch einmal.",
  "problem.not_local":
    "Legen Sie das erste Passwort mit einem Code von der Konsole des Routers fest.",
  "problem.password_changed": "Das Passwort wurde geändert. Melden Sie sich neu an.",
  "problem.not_written":
    "Der Router kann das nicht speichern: Es gilt nur bis zum nächsten Neustart.",
  "problem.not_kept": "Der Router konnte das nicht speichern. Nichts wurde geändert.",
  "problem.no_daemon": "Der Dienst des Routers antwortet nicht.",
  "problem.internal":
    "Im Router ist ein interner Fehler aufgetreten. Den Grund nennt sein Protokoll.",
  "problem.setup": "Die Einrichtung konnte das nicht ausführen.",
  "problem.setup_not_running": "Der Einrichtungsdienst läuft auf dem Router nicht.",
  "problem.setup_silent":
    "Der Einrichtungsdienst braucht zu lange. Sehen Sie gleich noch einmal nach.",
  "problem.no_history": "Der Router führt keinen Verlauf.",
  "problem.no_monitor": "Die Verkehrszählung ist auf diesem Router abgeschaltet.",
  "problem.no_port": "Der Router hat diesen Anschluss nicht.",
  "problem.no_device": "Der Router kennt dieses Gerät nicht.",
  "problem.no_voucher": "Diesen Gutschein gibt es nicht.",
  "problem.voucher_over": "Dieser Gutschein ist aufgebraucht.",
  "problem.wrong_picture": "Der Router kann dieses Bild nicht verwenden.",
  "problem.full": "Für mehr ist kein Platz.",
  "problem.waits": "Eine andere Änderung wartet auf Bestätigung.",
  "problem.nothing": "Keine Änderung wartet auf Bestätigung.",
  "problem.not_json": "Die Seite und der Router passen nicht zusammen. Laden Sie die Seite neu.",
  "problem.no_csrf": "Die Seite ist veraltet. Laden Sie sie neu.",
  "problem.too_long": "Das ist zu lang für den Router.",

  "login.title": "Anmelden",
  "login.password": "Passwort",
  "login.submit": "Anmelden",
  "login.first": "Passwort festlegen",
  "login.first.text":
    "Noch ist kein Passwort festgelegt. Legen Sie eines fest: hier oder auf dem Router mit dem Befehl weir passwd.",
  "login.first.elsewhere":
    "Noch ist kein Passwort festgelegt. Legen Sie eines fest: hier mit einem Code von der Konsole des Routers oder auf dem Router mit dem Befehl weir passwd.",
  "login.code": "Code",
  "login.code.hint": "Sie erhalten ihn auf der Konsole des Routers: weir passwd --claim",
  "login.new": "Neues Passwort",
  "login.repeat": "Neues Passwort wiederholen",
  "login.set": "Passwort festlegen",
  "login.short": "Nehmen Sie mindestens 8 Zeichen.",
  "login.different": "Die Passwörter stimmen nicht überein.",
  "login.show": "Anzeigen",
  "login.out": "Abmelden",

  "chart.label":
    "{name}: jetzt Download {down}, Upload {up}; Höchstwerte der letzten {span}: Download " +
    "{peak_down}, Upload {peak_up}",
  "chart.peak": "Spitze {value}",
  "chart.keys": "Mit den Pfeiltasten links und rechts lesen Sie einzelne Punkte.",
  "chart.point": "{time}: Download {down}, Upload {up}",
  "chart.waiting":
    "Das Diagramm beginnt, wenn Sie diese Seite öffnen, und füllt sich, solange sie offen bleibt.",
};
