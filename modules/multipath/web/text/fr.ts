// French.
import type { Translated } from "@/text";
import type { en } from "./en";

export const fr: Translated<typeof en> = {
  "module.multipath": "Accès",
  "view.paths": "Chemins",

  "paths.nopartner":
    "Les accès sont utilisés comme le disent les routes : la configuration ne nomme aucun partenaire (partner sous [multipath]).",
  "paths.uplinks.one": "{count} accès",
  "paths.uplinks.other": "{count} accès",
  "paths.open.one": "{count} connexion ouverte",
  "paths.open.other": "{count} connexions ouvertes",
  "paths.shares": "Ce que porte chaque chemin",
  "paths.way": "Direction",
  "paths.sum": "par tous les chemins, maintenant",
  "paths.none": "Aucun accès n’a de route par défaut pour le moment.",
  "paths.label": "{name}, maintenant : {shares}",
  "paths.point": "{time} : {shares}",
  "paths.of": "{name} {rate}",
  "paths.share.down": "de la réception, maintenant",
  "paths.share.up": "de l’envoi, maintenant",
  "paths.partner": "Partenaire",
  "paths.candidates": "Partenaires, dans l’ordre des essais",
  "paths.candidate.used": "est utilisé",
  "paths.candidate.untried": "n’a pas encore été essayé",
  "paths.candidate.ready": "est prêt",
  "paths.candidate.failed": "n’est pas joignable",
  "paths.keyless":
    "Ce routeur n’a pas de clé à lui : qui a sa ligne d’appairage peut se faire passer pour lui.",
  "paths.version": "Sa version de weir",
  "paths.state.connected": "Le partenaire est connecté.",
  "paths.state.connecting": "Connexion au partenaire en cours.",
  "paths.state.failed": "Le partenaire n’est pas joint ; on essaie encore et encore.",
  "paths.state.off": "Multipath ne tourne pas ; le journal du routeur dit pourquoi.",
  "paths.redirects": "Les nouvelles connexions TCP utilisent tous les chemins.",
  "paths.tunnel": "Ce qui n’est pas TCP passe par le tunnel, aussi par tous les chemins.",
  "paths.exposed.tcp":
    "Les nouvelles connexions TCP passent directement : le partenaire n’est pas là.",
  "paths.exposed.tcp-ipv6": "Le TCP d’IPv6 passe directement : le partenaire n’en a pas.",
  "paths.exposed.others": "Ce qui n’est pas TCP passe directement : il n’y a pas de tunnel.",
  "paths.exposed.others-ipv6":
    "Ce qui n’est pas TCP passe directement en IPv6 : le tunnel n’en a pas.",
  "paths.exposed.chosen": "Ce que nomme la configuration passe directement.",
  "paths.exposed.tls-names":
    "TLS n’est pas chiffré une seconde fois : en chemin vers le partenaire, les noms des serveurs sont lisibles.",
  "paths.exposed.clear":
    "Le TCP que les clients ne chiffrent pas est lisible en chemin vers le partenaire.",
  "paths.stops": "Les nouvelles connexions sont refusées tant que le partenaire n’est pas là.",
  "paths.locked":
    "Verrouillé : ce que les clients envoient ne sort que par le partenaire, même quand weir ne tourne pas.",
  "paths.connections": "Connexions",
  "paths.connections.open": "Ouvertes maintenant",
  "paths.connections.all": "Depuis le début",
  "paths.connections.direct": "Passées directement",
  "paths.connections.clear": "Non chiffrées par weir",
  "paths.connections.refused": "Refusées",
  "paths.note.silent": "le partenaire ne répond pas par lui dans le tunnel",
  "paths.note.never": "jamais utilisé",
  "paths.note.rests": "se repose : il ralentissait les autres",
  "paths.note.reserve": "en réserve",
  "paths.note.metered": "facturé au volume, en réserve",
  "paths.note.backup": "de secours, en réserve",
  "paths.note.metered-used": "facturé au volume, utilisé",
  "paths.note.backup-used": "de secours, utilisé",
  "paths.forwards": "Ce qui entre par le partenaire",
  "paths.forwards.refused": "Le partenaire ne donne pas ce port à ce routeur.",
  "paths.gone": "absent",
  "paths.fell_back.one": "{count} connexion sans MPTCP : quelque chose en chemin l’a enlevé.",
  "paths.fell_back.other": "{count} connexions sans MPTCP : quelque chose en chemin l’a enlevé.",
  "paths.strips":
    "Quelque chose en chemin enlève MPTCP : les connexions commencent par d’autres chemins.",
  "paths.twin":
    "{device} a la même adresse que {of} ({address}), et attend que celui-ci tombe. Donnez un autre réseau à l’un des deux modems.",
  "paths.tunnelled": "Par le tunnel",
  "paths.rtt": "Aller-retour",
  "paths.subflows": "Sous-flux",
  "paths.again": "Renvoyé",
  "paths.gateway": "Passerelle",
};
