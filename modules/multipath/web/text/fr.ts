// French.
import type { Translated } from "@/text";
import type { en } from "./en";

export const fr: Translated<typeof en> = {
  "module.multipath": "Accès",
  "view.paths": "Chemins",

  "paths.nopartner":
    "Le trafic suit les routes du noyau : la configuration n’a pas de partenaire (partner sous [multipath]).",
  "paths.uplinks.one": "{count} accès",
  "paths.uplinks.other": "{count} accès",
  "paths.open.one": "{count} connexion ouverte",
  "paths.open.other": "{count} connexions ouvertes",
  "paths.shares": "Trafic par chemin",
  "paths.way": "Direction",
  "paths.sum": "par tous les chemins, maintenant",
  "paths.none": "Aucun accès n’a de route par défaut pour le moment.",
  "paths.label": "{name}, maintenant : {shares}",
  "paths.point": "{time} : {shares}",
  "paths.of": "{name} {rate}",
  "paths.share.down": "de la réception, maintenant",
  "paths.share.up": "de l’envoi, maintenant",
  "paths.partner": "Partenaire",
  "paths.candidates": "Partenaires, par ordre de préférence",
  "paths.candidate.used": "utilisé",
  "paths.candidate.untried": "pas encore essayé",
  "paths.candidate.ready": "prêt",
  "paths.candidate.failed": "injoignable",
  "paths.keyless":
    "Ce routeur n’a pas de clé propre : avec sa ligne d’appairage, n’importe qui peut se faire passer pour lui.",
  "paths.version": "Version de weir du partenaire",
  "paths.state.connected": "Le partenaire est connecté.",
  "paths.state.connecting": "Connexion au partenaire en cours.",
  "paths.state.failed": "Le partenaire est injoignable ; weir continue d’essayer.",
  "paths.state.off": "Multipath ne tourne pas. Le journal du routeur en donne la raison.",
  "paths.redirects": "Les nouvelles connexions TCP utilisent tous les chemins.",
  "paths.tunnel": "Le reste passe par le tunnel, aussi par tous les chemins.",
  "paths.exposed.tcp":
    "Les nouvelles connexions TCP passent directement : le partenaire n’est pas connecté.",
  "paths.exposed.tcp-ipv6": "Le TCP sur IPv6 passe directement : le partenaire n’a pas d’IPv6.",
  "paths.exposed.others": "Tout ce qui n’est pas TCP passe directement : il n’y a pas de tunnel.",
  "paths.exposed.others-ipv6":
    "Tout ce qui n’est pas TCP passe directement en IPv6 : le tunnel n’a pas d’IPv6.",
  "paths.exposed.chosen": "Ce que la configuration exempte passe directement.",
  "paths.exposed.tls-names":
    "weir ne chiffre pas TLS une seconde fois : les noms des serveurs sont lisibles en chemin vers le partenaire.",
  "paths.exposed.clear":
    "Le TCP que les appareils ne chiffrent pas est lisible en chemin vers le partenaire.",
  "paths.stops":
    "Le routeur refuse les nouvelles connexions tant que le partenaire est injoignable.",
  "paths.locked":
    "Verrouillé : le trafic des appareils ne sort que par le partenaire, même quand weir ne tourne pas.",
  "paths.connections": "Connexions",
  "paths.connections.open": "Ouvertes maintenant",
  "paths.connections.all": "Depuis le démarrage",
  "paths.connections.direct": "Directes",
  "paths.connections.clear": "Non chiffrées par weir",
  "paths.connections.refused": "Refusées",
  "paths.note.silent": "le partenaire ne répond pas dans le tunnel",
  "paths.note.never": "jamais utilisé",
  "paths.note.rests": "en pause : il ralentissait les autres",
  "paths.note.reserve": "en réserve",
  "paths.note.metered": "facturé au volume, en réserve",
  "paths.note.backup": "de secours, en réserve",
  "paths.note.metered-used": "facturé au volume, utilisé",
  "paths.note.backup-used": "de secours, utilisé",
  "paths.forwards": "Ports redirigés par le partenaire",
  "paths.forwards.refused": "Le partenaire refuse ce port.",
  "paths.gone": "absent",
  "paths.fell_back.one": "{count} connexion sans MPTCP : un équipement en chemin l’a retiré.",
  "paths.fell_back.other": "{count} connexions sans MPTCP : un équipement en chemin l’a retiré.",
  "paths.strips":
    "Un équipement en chemin retire MPTCP : les connexions commencent par d’autres chemins.",
  "paths.twin":
    "{device} a la même adresse que {of} ({address}), et attend que celui-ci tombe. Donnez un autre réseau à l’un des deux modems.",
  "paths.tunnelled": "Par le tunnel",
  "paths.rtt": "Aller-retour",
  "paths.subflows": "Sous-flux",
  "paths.again": "Renvoyé",
  "paths.gateway": "Passerelle",
};
