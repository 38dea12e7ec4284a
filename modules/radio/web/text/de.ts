// German.
import type { Translated } from "@/text";
import type { en } from "./en";

export const de: Translated<typeof en> = {
  "module.radio": "Funk",
  "view.radio": "WLAN",

  "radio.count.one": "{count} Zugangspunkt",
  "radio.count.other": "{count} Zugangspunkte",
  "radio.mode.watch": "weir beobachtet die Sendeleistung und ändert sie nicht",
  "radio.mode.control": "weir passt die Sendeleistung dem Durchsatz an",
  "radio.empty": "Dieser Router hat zurzeit keinen Zugangspunkt.",
  "radio.off": "Die Regelung der Sendeleistung ist aus",
  "radio.off.how":
    "Ergänzen Sie dies in der Konfiguration (/etc/weir/weir.toml), und starten Sie weir neu:",
  "radio.off.watch": "zeigt Sendeleistung und Durchsatz und ändert nichts",
  "radio.off.control": "senkt die Sendeleistung, solange keine Station langsamer wird",

  "radio.power": "Aktuelle Sendeleistung",
  "radio.most": "Höchste Sendeleistung",
  "radio.enough": "Ausreichende Sendeleistung",
  "radio.enough.none": "noch nicht gefunden",
  "radio.why": "Warum",
  "radio.open_questions": "Der Treiber meldet die Sendeleistung nicht.",

  "reason.begin": "Die Suche beginnt",
  "reason.idle": "Volle Leistung: Keine Station empfängt Daten",
  "reason.newcomer": "Volle Leistung: Eine Station ist gerade hinzugekommen",
  "reason.silent": "Volle Leistung: Eine Station antwortet nicht mehr",
  "reason.edge": "Volle Leistung: Die Bestätigungen einer Station sind zu schwach",
  "reason.wall": "Volle Leistung: Es kommt viel weniger an als zuvor",
  "reason.reference": "Messung mit höchster Leistung, zum Vergleich",
  "reason.trial": "Versuch mit weniger Leistung",
  "reason.kept": "Diese Leistung genügt und bleibt",
  "reason.lost": "Weniger Leistung genügte nicht",
  "reason.worse": "Die bisherige Leistung genügt nicht mehr",
  "reason.return": "Zurück zur ausreichenden Leistung",

  "radio.stations": "Stationen von {device}",
  "radio.stations.none": "Keine Station ist verbunden.",
  "radio.stations.hint":
    "Durchsatz: was bei einer Station ankäme, wenn das Funkmodul nur an sie sendete, berechnet aus der letzten Sekunde.",
  "radio.station": "Station",
  "radio.throughput": "Durchsatz",
  "radio.expected": "Vom Treiber erwartet",
  "radio.sent": "Gesendet mit",
  "radio.signal": "Signal",
  "radio.decision": "Entscheidung",

  "radio.picture": "{device}, die letzten {span}",
  "radio.picture.label":
    "{device}, die letzten {span}: Sendeleistung jetzt {power}, zwischen {low} und {high}; höchster Durchsatz {throughput}",
  "radio.picture.none": "In diesem Zeitraum wurde nichts versucht.",
  "radio.picture.watch":
    'weir beobachtet die Sendeleistung nur; daher gibt es nichts zu zeichnen. Setzen Sie mode = "control" unter [radio.power] in der Konfiguration, dann senkt weir die Sendeleistung, solange keine Station langsamer wird.',
  "radio.panel.power": "Sendeleistung",
  "radio.panel.throughput": "Durchsatz bei der maßgeblichen Station",
  "radio.panel.rate": "Datenrate zu dieser Station",
  "radio.key.most": "bei höchster Leistung",
  "radio.key.telling": "nicht genug, oder ein anderes Ereignis",
  "radio.point": "Vor {time}: {power}. {reason}",
  "radio.point.throughput": "{rate} kommen an",
  "radio.point.reference": "bei höchster Leistung {rate}",
  "radio.point.rate": "Rate {rate}",
  "radio.steps": "Die Versuche mit {device}",
  "radio.at": "Vor",
  "radio.step.power": "Leistung",
  "radio.reference": "Bei höchster Leistung",
  "radio.rate": "Rate",

  "radio.peers": "Nachbarn von {device}",
  "radio.peers.none": "Kein Zugangspunkt mit dem gemeinsamen Geheimnis ist in Reichweite.",
  "radio.peers.open.one":
    "Die Verbindung zu {count} Nachbarn ist nicht verschlüsselt: Jeder in der Nähe kann ihren Verkehr lesen.",
  "radio.peers.open.other":
    "Die Verbindungen zu {count} Nachbarn sind nicht verschlüsselt: Jeder in der Nähe kann ihren Verkehr lesen.",
  "radio.device": "Gerät",
  "radio.state": "Zustand",
  "radio.since": "Nachbar seit",
  "radio.through": "Erwartet",
  "radio.key": "Verschlüsselung",
  "radio.key.shut": "verschlüsselt",
  "radio.key.open": "nicht verschlüsselt",
  "radio.key.none": "noch keine",
  "state.seen": "In Reichweite; der Schlüsselaustausch folgt",
  "state.waiting": "Wartet",
  "waits.faint": "Wartet: Das Signal ist zu schwach",
  "waits.full": "Wartet: Es gibt genug Nachbarn",
  "state.handshake": "Schlüssel wird vereinbart",
  "state.installed": "Schlüssel hier eingerichtet; die andere Seite muss ihn noch bestätigen",
  "state.alive": "Verbunden",
};
