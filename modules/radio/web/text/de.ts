// German.
import type { Translated } from "@/text";
import type { en } from "./en";

export const de: Translated<typeof en> = {
  "module.radio": "Funk",
  "view.radio": "WLAN",

  "radio.count.one": "{count} Zugangspunkt",
  "radio.count.other": "{count} Zugangspunkte",
  "radio.mode.watch": "die Leistung wird angesehen und nicht geändert",
  "radio.mode.control": "die Leistung folgt dem Durchsatz",
  "radio.empty": "Kein Gerät dieses Routers ist jetzt ein Zugangspunkt.",
  "radio.off": "Die Leistung wird nicht angesehen.",
  "radio.off.how":
    "Schreiben Sie dies in die Konfiguration (/etc/weir/weir.toml), und starten Sie weir neu:",
  "radio.off.watch": "sagt, womit gesendet wird und was ankommt, und ändert nichts",
  "radio.off.control": "senkt die Leistung, solange keine Station dadurch weniger bekommt",

  "radio.power": "Leistung jetzt",
  "radio.most": "Größte Leistung",
  "radio.enough": "Genug",
  "radio.enough.none": "noch nicht gefunden",
  "radio.why": "Warum",
  "radio.untold": "Der Treiber sagt die Leistung nicht.",

  "reason.begin": "Die Suche beginnt",
  "reason.idle": "Volle Leistung: Niemandem wird gesendet",
  "reason.newcomer": "Volle Leistung: Eine Station kam gerade",
  "reason.silent": "Volle Leistung: Eine Station ist nicht mehr zu hören",
  "reason.edge": "Volle Leistung: Eine Station bestätigt zu leise",
  "reason.wall": "Volle Leistung: Viel weniger kommt an als zuvor",
  "reason.reference": "Ein Blick auf die größte Leistung, zum Vergleich",
  "reason.trial": "Weniger Leistung wird versucht",
  "reason.kept": "Diese Leistung genügt und bleibt",
  "reason.lost": "Weniger Leistung genügte nicht",
  "reason.worse": "Was genug war, genügt nicht mehr",
  "reason.return": "Zurück zu dem, was genügt",

  "radio.stations": "Stationen von {device}",
  "radio.stations.none": "Niemand ist da.",
  "radio.stations.hint":
    "Kommt an: was eine Station bekäme, wenn die ganze Zeit nur ihr gesendet würde, nach dem, was in der letzten Sekunde gesendet wurde.",
  "radio.station": "Station",
  "radio.arrives": "Kommt an",
  "radio.expected": "Erwartet der Treiber",
  "radio.sent": "Gesendet mit",
  "radio.signal": "Signal",
  "radio.decision": "Für sie entschieden",

  "radio.picture": "{device}, die letzten {span}",
  "radio.picture.label":
    "{device}, die letzten {span}: Leistung jetzt {power}, zwischen {low} und {high}; höchstens kam an: {arrives}",
  "radio.picture.none": "In dieser Zeit wurde nichts versucht.",
  "radio.picture.watch":
    'Hier wird nichts versucht, da die Leistung nur angesehen wird; so gibt es nichts zu zeichnen. Mit mode = "control" unter [radio.power] der Konfiguration senkt weir die Leistung, solange keine Station dadurch weniger bekommt.',
  "radio.panel.power": "Leistung",
  "radio.panel.arrives": "Was bei der Station ankommt, die entschied",
  "radio.panel.rate": "Rate, mit der ihr gesendet wird",
  "radio.key.most": "bei der größten Leistung",
  "radio.key.telling": "nicht genug, oder etwas ist geschehen",
  "radio.point": "Vor {time}: {power}. {reason}",
  "radio.point.arrives": "es kommt an {rate}",
  "radio.point.reference": "bei der größten Leistung {rate}",
  "radio.point.rate": "Rate {rate}",
  "radio.steps": "Was mit {device} versucht wurde",
  "radio.at": "Vor",
  "radio.step.power": "Leistung",
  "radio.reference": "Bei der größten",
  "radio.rate": "Rate",

  "radio.peers": "Nachbarn von {device}",
  "radio.peers.none": "Kein Zugangspunkt ist zu hören, der das Geheimnis hat.",
  "radio.peers.open.one":
    "{count} Nachbar ist nicht verschlüsselt: Wer in der Nähe ist, kann lesen, was darüber geht.",
  "radio.peers.open.other":
    "{count} Nachbarn sind nicht verschlüsselt: Wer in der Nähe ist, kann lesen, was darüber geht.",
  "radio.device": "Gerät",
  "radio.state": "Zustand",
  "radio.since": "Nachbar seit",
  "radio.through": "Erwartet",
  "radio.key": "Verschlüsselung",
  "radio.key.shut": "verschlüsselt",
  "radio.key.open": "nicht verschlüsselt",
  "radio.key.none": "noch nichts",
  "state.seen": "Gehört; als Nächstes ein Schlüsselaustausch",
  "state.waiting": "Wartet",
  "waits.faint": "Wartet: Er ist zu leise",
  "waits.full": "Wartet: Es gibt genug Nachbarn",
  "state.handshake": "Die beiden einigen sich auf einen Schlüssel",
  "state.installed": "Hat hier einen Schlüssel; die andere Seite muss ihn noch bestätigen",
  "state.alive": "Verbunden",
};
