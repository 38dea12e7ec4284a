// French.
import type { Translated } from ".";
import type { en } from "./en";

export const fr: Translated<typeof en> = {
  "brand.tagline": "Qui utilise le réseau",
  "nav.label": "Vues",
  "nav.menu": "Menu",
  "nav.skip": "Aller au contenu",
  "nav.language": "Langue",
  "nav.language.failed": "Cette langue n’a pas pu être chargée. Réessayez.",
  "nav.theme": "Apparence",
  "nav.theme.auto": "Comme le système",
  "nav.theme.light": "Claire",
  "nav.theme.dark": "Sombre",

  "common.received": "Reçu",
  "common.sent": "Envoyé",
  "common.download": "Réception",
  "common.upload": "Envoi",
  "common.total": "Total",
  "common.name": "Nom",
  "common.address": "Adresse",
  "common.mac": "Adresse matérielle",
  "common.port": "Port",
  "common.share": "Part",
  "common.others": "Autres",
  "common.none": "aucun",
  "common.loading": "Chargement …",
  "common.retry": "Réessayer",
  "common.more": "Afficher plus",
  "common.shown": "{shown} sur {total}",
  "common.details": "Chiffres en tableau",
  "common.bytes": "Volume",
  "common.uplink": "Accès à Internet",

  "error.offline": "Le routeur ne répond pas.",
  "error.offline.hint": "La connexion avec lui est-elle là ? La page continue d’essayer.",
  "error.stale":
    "Le routeur ne répond pas ; ce que vous voyez est plus ancien. La page continue d’essayer.",
  "error.status": "Le routeur a répondu par l’erreur {status}.",
  "error.view": "Une erreur s’est produite dans cette vue.",
  "error.view.hint": "Ouvrez-la de nouveau ; si cela se répète, signalez-le, s’il vous plaît.",
  "error.unknown.title": "Il n’y a rien ici",
  "error.unknown": "Aucune vue n’a cette adresse. Choisissez-en une dans la navigation.",

  "login.title": "Se connecter",
  "login.password": "Mot de passe",
  "login.submit": "Se connecter",
  "login.first": "Choisir un mot de passe",
  "login.first.text":
    "Personne n’a encore choisi de mot de passe. Le premier peut être défini ici, depuis le " +
    "routeur lui-même, ou là-bas par la commande weir passwd.",
  "login.first.elsewhere":
    "Personne n’a encore choisi de mot de passe. Qui a la console du routeur peut définir ici le " +
    "premier, avec un code ; ou sur le routeur lui-même, par la commande weir passwd.",
  "login.code": "Code",
  "login.code.hint": "La console du routeur le donne : weir passwd --claim",
  "login.new": "Nouveau mot de passe",
  "login.repeat": "Nouveau mot de passe encore une fois",
  "login.set": "Enregistrer le mot de passe",
  "login.short": "Au moins 8 caractères.",
  "login.different": "Les deux ne sont pas identiques.",
  "login.show": "Montrer",
  "login.out": "Se déconnecter",

  "chart.label":
    "{name} : maintenant réception {down}, envoi {up} ; maximums des dernières {span} : " +
    "réception {peak_down}, envoi {peak_up}",
  "chart.peak": "maximum {value}",
  "chart.keys": "Les flèches gauche et droite lisent chaque point.",
  "chart.point": "{time} : réception {down}, envoi {up}",
  "chart.waiting": "La ligne grandit tant que cette page est ouverte.",
};
