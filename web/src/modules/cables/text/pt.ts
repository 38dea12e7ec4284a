// Portuguese.
import type { Translated } from "../../../text";
import type { en } from "./en";

export const pt: Translated<typeof en> = {
  "module.cables": "Cabos",
  "view.cables": "Portas",

  "cables.count.one": "{count} porta",
  "cables.count.other": "{count} portas",
  "cables.mode.suggest": "diz-se o que se encontra, e não se muda nada",
  "cables.mode.auto": "as portas são usadas para o que se encontrou",
  "cables.empty":
    "Nenhuma porta é observada: não há nenhuma tomada Ethernet, ou nenhuma das que são nomeadas (ports em [cables]).",
  "cables.off": "As portas não são observadas.",
  "cables.off.how": "Escreva isto na configuração (/etc/weir/weir.toml) e reinicie o weir:",
  "cables.off.then":
    "Então o weir descobre o que está na outra ponta de cada cabo e di-lo aqui. Não muda nada.",

  "cables.sockets": "Tomadas",
  "cables.choose": "Escolha uma porta para ver mais dela",
  "cables.changed": "{device} é agora: {role}",
  "cables.sure": "{share} de certeza",
  "cables.warnings.one": "{count} aviso",
  "cables.warnings.other": "{count} avisos",
  "cables.gone": "Agora não há nenhuma porta {device}.",

  "cables.why": "Porquê",
  "cables.change": "O que o mudaria",
  "cables.now": "Usada agora para",
  "cables.now.lan": "a LAN",
  "cables.now.uplink": "o caminho para a Internet",
  "cables.now.mesh": "a malha",
  "cables.now.none": "nada",
  "cables.held": "Mantida por",
  "cables.held.administrator": "escolha sua",
  "cables.held.connection": "a sua própria ligação, que chega por ela",
  "cables.decided": "Decidido",
  "cables.after": "{time} depois do link",

  "cables.heard": "O que se ouviu",
  "cables.heard.hint": "Os tempos contam a partir do link.",
  "cables.heard.none": "Nada: não há link.",
  "cables.heard.link": "O link chegou",
  "cables.heard.decided": "Decidido: {role}",

  "cables.choice": "A sua escolha",
  "cables.choice.hint":
    "O que escolher vale, ouça-se o que se ouvir, e também depois de um reinício.",
  "cables.accept": "Aceitar",
  "cables.accept.role": "Aceitar: {role}",
  "cables.auto": "Descobrir de novo",
  "cables.keep": "Manter como",
  "cables.keep.do": "Manter",
  "cables.kept.short": "mantida",
  "cables.kept": "Mantida como: {role}.",
  "cables.released": "O weir descobre de novo o que lá está.",

  "role.uplink": "Internet",
  "role.mesh": "Malha",
  "role.radio": "Rádio",
  "role.client": "Dispositivo",
  "role.border": "Fronteira",
  "role.switch": "Switch",
  "role.loop": "Ciclo",
  "role.unknown": "Desconhecido",
  "role.listening": "A escutar",
  "role.none": "Sem link",
  "role.what.uplink": "Um caminho para a Internet.",
  "role.what.mesh": "Outro nó desta malha.",
  "role.what.radio": "Um rádio que é usado como um cabo.",
  "role.what.client": "Um computador, uma impressora, um telefone.",
  "role.what.border": "A malha de outra rede.",
  "role.what.switch": "Um switch com vários dispositivos atrás.",
  "role.what.loop": "O cabo volta a este router.",
  "role.what.unknown": "Não está ninguém, ou não se pode saber.",
  "role.what.listening": "Está a descobrir-se o que lá está.",
  "role.what.none": "Não há nada ligado, ou está desligado.",
};
