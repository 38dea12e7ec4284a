// French.
import type { Translated } from "../../../text";
import type { en } from "./en";

export const fr: Translated<typeof en> = {
  "module.cables": "Câbles",
  "view.cables": "Ports",

  "cables.count.one": "{count} port",
  "cables.count.other": "{count} ports",
  "cables.mode.suggest": "ce qui est trouvé est dit, et rien n’est changé",
  "cables.mode.auto": "les ports servent à ce qui a été trouvé",
  "cables.empty":
    "Aucun port n’est observé : il n’y a pas de prise Ethernet, ou aucune de celles qui sont nommées (ports sous [cables]).",
  "cables.off": "Les ports ne sont pas observés.",
  "cables.off.how":
    "Écrivez ceci dans la configuration (/etc/weir/weir.toml), et redémarrez weir :",
  "cables.off.then":
    "Alors weir découvre ce qu’il y a à l’autre bout de chaque câble, et le dit ici. Il ne change rien.",

  "cables.sockets": "Prises",
  "cables.choose": "Choisissez un port pour en voir plus",
  "cables.changed": "{device} est maintenant : {role}",
  "cables.sure": "sûr à {share}",
  "cables.warnings.one": "{count} avertissement",
  "cables.warnings.other": "{count} avertissements",
  "cables.gone": "Il n’y a pas de port {device} maintenant.",

  "cables.why": "Pourquoi",
  "cables.change": "Ce qui le changerait",
  "cables.now": "Sert maintenant",
  "cables.now.lan": "au LAN",
  "cables.now.uplink": "de chemin vers Internet",
  "cables.now.mesh": "au maillage",
  "cables.now.none": "à rien",
  "cables.held": "Maintenu par",
  "cables.held.administrator": "votre choix",
  "cables.held.connection": "votre propre connexion, qui passe par lui",
  "cables.decided": "Décidé",
  "cables.after": "{time} après le lien",

  "cables.heard": "Ce qu’on a entendu",
  "cables.heard.hint": "Les temps comptent à partir du lien.",
  "cables.heard.none": "Rien : il n’y a pas de lien.",
  "cables.heard.link": "Le lien est venu",
  "cables.heard.decided": "Décidé : {role}",

  "cables.choice": "Votre choix",
  "cables.choice.hint":
    "Ce que vous choisissez vaut, quoi qu’on entende, et après un redémarrage aussi.",
  "cables.accept": "Accepter",
  "cables.accept.role": "Accepter : {role}",
  "cables.auto": "Découvrir de nouveau",
  "cables.keep": "Garder comme",
  "cables.keep.do": "Garder",
  "cables.kept.short": "gardé",
  "cables.kept": "Gardé comme : {role}.",
  "cables.released": "Weir découvre de nouveau ce qu’il y a.",

  "role.uplink": "Internet",
  "role.mesh": "Maillage",
  "role.radio": "Radio",
  "role.client": "Appareil",
  "role.border": "Frontière",
  "role.switch": "Switch",
  "role.loop": "Boucle",
  "role.unknown": "Inconnu",
  "role.listening": "À l’écoute",
  "role.none": "Pas de lien",
  "role.what.uplink": "Un chemin vers Internet.",
  "role.what.mesh": "Un autre nœud de ce maillage.",
  "role.what.radio": "Une radio qui sert de câble.",
  "role.what.client": "Un ordinateur, une imprimante, un téléphone.",
  "role.what.border": "Le maillage d’un autre réseau.",
  "role.what.switch": "Un switch avec plusieurs appareils derrière.",
  "role.what.loop": "Le câble revient à ce routeur.",
  "role.what.unknown": "Il n’y a personne, ou on ne peut pas le dire.",
  "role.what.listening": "On découvre en ce moment ce qu’il y a.",
  "role.what.none": "Rien n’est branché, ou c’est éteint.",
};
