// French.
import type { Translated } from "../../../text";
import type { en } from "./en";

export const fr: Translated<typeof en> = {
  "module.radio": "Radio",
  "view.radio": "Wi-Fi",

  "radio.count.one": "{count} point d’accès",
  "radio.count.other": "{count} points d’accès",
  "radio.mode.watch": "la puissance est observée, et n’est pas changée",
  "radio.mode.control": "la puissance suit le débit",
  "radio.empty": "Aucun périphérique de ce routeur n’est un point d’accès en ce moment.",
  "radio.off": "La puissance n’est pas observée.",
  "radio.off.how": "Écrivez ceci dans la configuration (/etc/weir/weir.toml), et redémarrez weir :",
  "radio.off.watch": "dit avec quoi l’on émet et ce qui arrive, et ne change rien",
  "radio.off.control": "baisse la puissance tant qu’aucune station n’y perd",

  "radio.power": "Puissance actuelle",
  "radio.most": "Puissance maximale",
  "radio.enough": "Suffisante",
  "radio.enough.none": "pas encore trouvée",
  "radio.why": "Pourquoi",
  "radio.untold": "Le pilote ne dit pas la puissance.",

  "reason.begin": "La recherche commence",
  "reason.idle": "Toute la puissance : rien n’est envoyé à personne",
  "reason.newcomer": "Toute la puissance : une station vient d’arriver",
  "reason.silent": "Toute la puissance : une station n’est plus entendue",
  "reason.edge": "Toute la puissance : une station acquitte trop faiblement",
  "reason.wall": "Toute la puissance : il arrive bien moins qu’avant",
  "reason.reference": "Un essai à la puissance maximale, pour comparer",
  "reason.trial": "Moins de puissance est essayée",
  "reason.kept": "Cette puissance suffit, et reste",
  "reason.lost": "Moins de puissance n’a pas suffi",
  "reason.worse": "Ce qui suffisait ne suffit plus",
  "reason.return": "Retour à ce qui suffit",

  "radio.stations": "Stations de {device}",
  "radio.stations.none": "Il n’y a personne.",
  "radio.stations.hint":
    "Arrive : ce qu’une station recevrait si l’on n’émettait que vers elle, tout le temps, d’après ce qui a été envoyé à la dernière seconde.",
  "radio.station": "Station",
  "radio.arrives": "Arrive",
  "radio.expected": "Attendu par le pilote",
  "radio.sent": "Émis avec",
  "radio.signal": "Signal",
  "radio.decision": "Décidé pour elle",

  "radio.picture": "{device}, les dernières {span}",
  "radio.picture.label":
    "{device}, les dernières {span} : puissance actuelle {power}, entre {low} et {high} ; au plus, il est arrivé {arrives}",
  "radio.picture.none": "Rien n’a été essayé pendant ce temps.",
  "radio.picture.watch":
    'Rien n’est essayé, car la puissance n’est qu’observée : il n’y a donc rien à dessiner. Avec mode = "control" sous [radio.power] de la configuration, weir baisse la puissance tant qu’aucune station n’y perd.',
  "radio.panel.power": "Puissance",
  "radio.panel.arrives": "Ce qui arrive à la station qui a décidé",
  "radio.panel.rate": "Débit physique de l’envoi",
  "radio.key.most": "à la puissance maximale",
  "radio.key.telling": "insuffisant, ou quelque chose est arrivé",
  "radio.point": "Il y a {time} : {power}. {reason}",
  "radio.point.arrives": "il arrive {rate}",
  "radio.point.reference": "à la puissance maximale {rate}",
  "radio.point.rate": "débit {rate}",
  "radio.steps": "Ce qui a été essayé avec {device}",
  "radio.at": "Il y a",
  "radio.step.power": "Puissance",
  "radio.reference": "À la maximale",
  "radio.rate": "Débit",

  "radio.peers": "Voisins de {device}",
  "radio.peers.none": "Aucun point d’accès qui ait le secret n’est entendu.",
  "radio.peers.open.one":
    "{count} voisin n’est pas chiffré : qui est à portée peut lire ce qui passe par lui.",
  "radio.peers.open.other":
    "{count} voisins ne sont pas chiffrés : qui est à portée peut lire ce qui passe par eux.",
  "radio.device": "Périphérique",
  "radio.state": "État",
  "radio.key": "Chiffrement",
  "radio.key.shut": "chiffré",
  "radio.key.open": "non chiffré",
  "radio.key.none": "rien encore",
  "state.seen": "Entendu ; l’accord d’une clé vient ensuite",
  "state.waiting": "Attend : trop faible, ou il y a assez de voisins",
  "state.handshake": "Les deux conviennent d’une clé",
  "state.installed": "A une clé ici ; l’autre côté doit encore la confirmer",
  "state.alive": "Connecté",
};
