// Italian.
import type { Translated } from "../../../text";
import type { en } from "./en";

export const it: Translated<typeof en> = {
  "module.radio": "Radio",
  "view.radio": "Wi-Fi",

  "radio.count.one": "{count} punto di accesso",
  "radio.count.other": "{count} punti di accesso",
  "radio.mode.watch": "la potenza si osserva e non si cambia",
  "radio.mode.control": "la potenza segue la velocità utile",
  "radio.empty": "Nessun dispositivo di questo router è ora un punto di accesso.",
  "radio.off": "La potenza non è osservata.",
  "radio.off.how": "Scrivi questo nella configurazione (/etc/weir/weir.toml) e riavvia weir:",
  "radio.off.watch": "dice con che cosa si trasmette e che cosa arriva, e non cambia nulla",
  "radio.off.control": "abbassa la potenza finché nessuna stazione riceve meno",

  "radio.power": "Potenza ora",
  "radio.most": "Potenza massima",
  "radio.enough": "Sufficiente",
  "radio.enough.none": "non ancora trovata",
  "radio.why": "Perché",
  "radio.untold": "Il driver non dice la potenza.",

  "reason.begin": "La ricerca comincia",
  "reason.idle": "Tutta la potenza: non si trasmette a nessuno",
  "reason.newcomer": "Tutta la potenza: una stazione è appena arrivata",
  "reason.silent": "Tutta la potenza: una stazione non si sente più",
  "reason.edge": "Tutta la potenza: una stazione conferma troppo debolmente",
  "reason.wall": "Tutta la potenza: arriva molto meno di prima",
  "reason.reference": "Uno sguardo alla potenza massima, per confronto",
  "reason.trial": "Si prova meno potenza",
  "reason.kept": "Questa potenza basta, e resta",
  "reason.lost": "Meno potenza non è bastata",
  "reason.worse": "Ciò che bastava non basta più",
  "reason.return": "Di nuovo a ciò che basta",

  "radio.stations": "Stazioni di {device}",
  "radio.stations.none": "Non c’è nessuno.",
  "radio.stations.hint":
    "Arriva: ciò che una stazione riceverebbe se si trasmettesse solo a lei, sempre, secondo quanto trasmesso nell’ultimo secondo.",
  "radio.station": "Stazione",
  "radio.arrives": "Arriva",
  "radio.expected": "Atteso dal driver",
  "radio.sent": "Trasmesso con",
  "radio.signal": "Segnale",
  "radio.decision": "Deciso per lei",

  "radio.picture": "{device}, gli ultimi {span}",
  "radio.picture.label":
    "{device}, gli ultimi {span}: potenza ora {power}, tra {low} e {high}; al massimo è arrivato {arrives}",
  "radio.picture.none": "In questo tempo non si è provato nulla.",
  "radio.picture.watch":
    'Non si prova nulla, perché la potenza è solo osservata: quindi non c’è nulla da disegnare. Con mode = "control" in [radio.power] della configurazione, weir abbassa la potenza finché nessuna stazione riceve meno.',
  "radio.panel.power": "Potenza",
  "radio.panel.arrives": "Ciò che arriva alla stazione che ha deciso",
  "radio.panel.rate": "Velocità con cui le si trasmette",
  "radio.key.most": "alla potenza massima",
  "radio.key.telling": "non bastava, o è successo qualcosa",
  "radio.point": "{time} fa: {power}. {reason}",
  "radio.point.arrives": "arriva {rate}",
  "radio.point.reference": "alla potenza massima {rate}",
  "radio.point.rate": "velocità {rate}",
  "radio.steps": "Ciò che si è provato con {device}",
  "radio.at": "Fa",
  "radio.step.power": "Potenza",
  "radio.reference": "Alla massima",
  "radio.rate": "Velocità",

  "radio.peers": "Vicini di {device}",
  "radio.peers.none": "Non si sente alcun punto di accesso che abbia il segreto.",
  "radio.peers.open.one":
    "{count} vicino non è cifrato: chi è nei pressi può leggere ciò che passa.",
  "radio.peers.open.other":
    "{count} vicini non sono cifrati: chi è nei pressi può leggere ciò che passa.",
  "radio.device": "Dispositivo",
  "radio.state": "Stato",
  "radio.key": "Cifratura",
  "radio.key.shut": "cifrato",
  "radio.key.open": "non cifrato",
  "radio.key.none": "ancora nulla",
  "state.seen": "Sentito; segue l’accordo di una chiave",
  "state.waiting": "Attende: è troppo debole, o ci sono abbastanza vicini",
  "state.handshake": "I due si accordano su una chiave",
  "state.installed": "Ha qui una chiave; l’altro lato deve ancora confermarla",
  "state.alive": "Collegato",
};
