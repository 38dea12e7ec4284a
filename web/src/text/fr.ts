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
  "problem.no_session": "Vous n’êtes pas connecté.",
  "problem.wrong_password": "Le mot de passe est faux.",
  "problem.wrong_claim": "Le code est faux.",
  "problem.weak_password":
    "Ce mot de passe est trop facile à deviner. Prenez quelques mots que personne n’assemblerait.",
  "problem.too_many_tries": "Il y a eu trop de mots de passe faux. Attendez un peu.",
  "problem.too_many": "Le routeur a trop à faire. Réessayez dans un instant.",
  "problem.busy": "Le routeur est occupé. Réessayez dans un instant.",
  "problem.not_local":
    "Seul celui qui a la console du routeur peut définir le premier mot de passe.",
  "problem.password_changed": "Le mot de passe a été changé entre-temps. Reconnectez-vous.",
  "problem.not_written":
    "Cela vaut jusqu’au prochain démarrage : le routeur ne peut pas l’écrire sur son disque.",
  "problem.not_kept": "Le routeur n’a pas pu écrire cela ; rien n’a changé.",
  "problem.no_daemon": "Le service du routeur ne répond pas.",
  "problem.internal": "Le routeur a rencontré une erreur interne. Son journal en dit plus.",
  "problem.setup": "La configuration n’a pas pu le faire.",
  "problem.setup_not_running": "Le processus de configuration ne tourne pas sur le routeur.",
  "problem.setup_silent":
    "Le processus de configuration met trop de temps. Regardez de nouveau dans un instant.",
  "problem.no_history": "Le routeur ne tient pas d’historique.",
  "problem.no_monitor": "Le comptage est désactivé sur ce routeur.",
  "problem.no_port": "Le routeur n’a pas ce port.",
  "problem.no_device": "Le routeur ne connaît pas cet appareil.",
  "problem.no_voucher": "Ce bon n’existe pas.",
  "problem.voucher_over": "Ce bon est épuisé.",
  "problem.wrong_picture": "Le routeur ne peut pas utiliser cette image.",
  "problem.full": "Il n’y a plus de place.",
  "problem.waits": "Un autre changement attend une confirmation.",
  "problem.nothing": "Aucun changement n’attend de confirmation.",
  "problem.not_json": "La page et le routeur ne vont pas ensemble. Rechargez la page.",
  "problem.no_csrf": "La page est périmée. Rechargez-la.",
  "problem.too_long": "C’est plus long que ce que le routeur accepte.",

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
  "chart.waiting":
    "Le graphique commence quand vous ouvrez cette page et se remplit tant qu’elle reste ouverte.",
};
