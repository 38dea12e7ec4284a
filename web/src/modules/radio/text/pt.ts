// Portuguese.
import type { Translated } from "../../../text";
import type { en } from "./en";

export const pt: Translated<typeof en> = {
  "module.radio": "Rádio",
  "view.radio": "Wi-Fi",

  "radio.count.one": "{count} ponto de acesso",
  "radio.count.other": "{count} pontos de acesso",
  "radio.mode.watch": "a potência é observada e não é mudada",
  "radio.mode.control": "a potência segue o débito",
  "radio.empty": "Nenhum dispositivo deste router é agora um ponto de acesso.",
  "radio.off": "A potência não é observada.",
  "radio.off.how": "Escreva isto na configuração (/etc/weir/weir.toml) e reinicie o weir:",
  "radio.off.watch": "diz com que se emite e o que chega, e não muda nada",
  "radio.off.control": "baixa a potência enquanto nenhuma estação receber menos por isso",

  "radio.power": "Potência agora",
  "radio.most": "Potência máxima",
  "radio.enough": "Suficiente",
  "radio.enough.none": "ainda não encontrada",
  "radio.why": "Porquê",
  "radio.untold": "O controlador não diz a potência.",

  "reason.begin": "A procura começa",
  "reason.idle": "Toda a potência: não se envia a ninguém",
  "reason.newcomer": "Toda a potência: acaba de chegar uma estação",
  "reason.silent": "Toda a potência: uma estação deixou de se ouvir",
  "reason.edge": "Toda a potência: uma estação confirma demasiado fraco",
  "reason.wall": "Toda a potência: chega muito menos do que antes",
  "reason.reference": "Um olhar à potência máxima, para comparar",
  "reason.trial": "Experimenta-se menos potência",
  "reason.kept": "Esta potência basta, e fica",
  "reason.lost": "Menos potência não bastou",
  "reason.worse": "O que bastava já não basta",
  "reason.return": "De volta ao que basta",

  "radio.stations": "Estações de {device}",
  "radio.stations.none": "Não há ninguém.",
  "radio.stations.hint":
    "Chega: o que uma estação receberia se só a ela se enviasse, o tempo todo, pelo que foi enviado no último segundo.",
  "radio.station": "Estação",
  "radio.arrives": "Chega",
  "radio.expected": "Esperado pelo controlador",
  "radio.sent": "Emitido com",
  "radio.signal": "Sinal",
  "radio.decision": "Decidido por ela",

  "radio.picture": "{device}, os últimos {span}",
  "radio.picture.label":
    "{device}, os últimos {span}: potência agora {power}, entre {low} e {high}; no máximo chegou {arrives}",
  "radio.picture.none": "Neste tempo nada foi experimentado.",
  "radio.picture.watch":
    'Nada se experimenta, pois a potência só é observada; por isso não há nada a desenhar. Com mode = "control" em [radio.power] da configuração, o weir baixa a potência enquanto nenhuma estação receber menos por isso.',
  "radio.panel.power": "Potência",
  "radio.panel.arrives": "O que chega à estação que decidiu",
  "radio.panel.rate": "Velocidade com que se lhe envia",
  "radio.key.most": "com a potência máxima",
  "radio.key.telling": "não bastou, ou algo aconteceu",
  "radio.point": "Há {time}: {power}. {reason}",
  "radio.point.arrives": "chega {rate}",
  "radio.point.reference": "com a potência máxima {rate}",
  "radio.point.rate": "velocidade {rate}",
  "radio.steps": "O que se experimentou com {device}",
  "radio.at": "Há",
  "radio.step.power": "Potência",
  "radio.reference": "Com a máxima",
  "radio.rate": "Velocidade",

  "radio.peers": "Vizinhos de {device}",
  "radio.peers.none": "Não se ouve nenhum ponto de acesso que tenha o segredo.",
  "radio.peers.open.one":
    "{count} vizinho não está cifrado: quem estiver perto pode ler o que por ele passa.",
  "radio.peers.open.other":
    "{count} vizinhos não estão cifrados: quem estiver perto pode ler o que por eles passa.",
  "radio.device": "Dispositivo",
  "radio.state": "Estado",
  "radio.key": "Cifra",
  "radio.key.shut": "cifrado",
  "radio.key.open": "sem cifra",
  "radio.key.none": "ainda nada",
  "state.seen": "Ouvido; a seguir acorda-se uma chave",
  "state.waiting": "Espera: é demasiado fraco, ou há vizinhos bastantes",
  "state.handshake": "Os dois acordam uma chave",
  "state.installed": "Tem aqui uma chave; o outro lado ainda a deve confirmar",
  "state.alive": "Ligado",
};
