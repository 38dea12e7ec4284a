// German.
import type { Translated } from "../../../text";
import type { en } from "./en";

export const de: Translated<typeof en> = {
  "module.cables": "Kabel",
  "view.cables": "Anschlüsse",

  "cables.count.one": "{count} Anschluss",
  "cables.count.other": "{count} Anschlüsse",
  "cables.mode.suggest": "gesagt wird, was gefunden wurde, geändert wird nichts",
  "cables.mode.auto": "Anschlüsse werden für das genutzt, was gefunden wurde",
  "cables.empty":
    "Kein Anschluss wird angesehen: Es gibt keine Ethernet-Buchse, oder keine, die genannt ist (ports unter [cables]).",
  "cables.off": "Die Anschlüsse werden nicht angesehen.",
  "cables.off.how":
    "Schreibe dies in die Konfiguration (/etc/weir/weir.toml), und starte weir neu:",
  "cables.off.then":
    "Dann findet weir heraus, was am anderen Ende jedes Kabels ist, und sagt es hier. Es ändert nichts.",

  "cables.sockets": "Buchsen",
  "cables.choose": "Wähle einen Anschluss, um mehr von ihm zu sehen",
  "cables.changed": "{device} ist jetzt: {role}",
  "cables.sure": "zu {share} sicher",
  "cables.warnings.one": "{count} Warnung",
  "cables.warnings.other": "{count} Warnungen",
  "cables.gone": "Einen Anschluss {device} gibt es jetzt nicht.",

  "cables.why": "Warum",
  "cables.change": "Was das ändern würde",
  "cables.now": "Jetzt genutzt für",
  "cables.now.lan": "das LAN",
  "cables.now.uplink": "den Weg ins Internet",
  "cables.now.mesh": "das Mesh",
  "cables.now.none": "nichts",
  "cables.held": "Festgehalten von",
  "cables.held.administrator": "deiner Wahl",
  "cables.held.connection": "deiner eigenen Verbindung, die hier ankommt",
  "cables.decided": "Entschieden",
  "cables.after": "{time} nach dem Link",

  "cables.heard": "Was zu hören war",
  "cables.heard.hint": "Die Zeiten zählen ab dem Link.",
  "cables.heard.none": "Nichts: Es gibt keinen Link.",
  "cables.heard.link": "Der Link kam",
  "cables.heard.decided": "Entschieden: {role}",

  "cables.choice": "Deine Wahl",
  "cables.choice.hint":
    "Was du wählst, gilt, was auch immer zu hören ist, und auch nach einem Neustart.",
  "cables.accept": "Annehmen",
  "cables.accept.role": "Annehmen: {role}",
  "cables.auto": "Neu herausfinden",
  "cables.keep": "Festhalten als",
  "cables.keep.do": "Festhalten",
  "cables.kept.short": "festgehalten",
  "cables.kept": "Festgehalten als: {role}.",
  "cables.released": "Weir findet wieder heraus, was da ist.",

  "role.uplink": "Internet",
  "role.mesh": "Mesh",
  "role.radio": "Funk",
  "role.client": "Gerät",
  "role.border": "Grenze",
  "role.switch": "Switch",
  "role.loop": "Schleife",
  "role.unknown": "Unbekannt",
  "role.listening": "Hört zu",
  "role.none": "Kein Link",
  "role.what.uplink": "Ein Weg ins Internet.",
  "role.what.mesh": "Ein anderer Knoten dieses Mesh.",
  "role.what.radio": "Eine Funkstrecke, die wie ein Kabel genutzt wird.",
  "role.what.client": "Ein Computer, ein Drucker, ein Telefon.",
  "role.what.border": "Das Mesh eines anderen Netzes.",
  "role.what.switch": "Ein Switch mit mehreren Geräten dahinter.",
  "role.what.loop": "Das Kabel führt zu diesem Router zurück.",
  "role.what.unknown": "Niemand ist da, oder es lässt sich nicht sagen.",
  "role.what.listening": "Es wird gerade herausgefunden, was da ist.",
  "role.what.none": "Nichts ist eingesteckt, oder es ist aus.",
};
