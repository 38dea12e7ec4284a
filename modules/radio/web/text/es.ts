// Spanish.
import type { Translated } from "@/text";
import type { en } from "./en";

export const es: Translated<typeof en> = {
  "module.radio": "Radio",
  "view.radio": "Wi-Fi",

  "radio.count.one": "{count} punto de acceso",
  "radio.count.other": "{count} puntos de acceso",
  "radio.mode.watch": "la potencia se mira y no se cambia",
  "radio.mode.control": "la potencia sigue al caudal",
  "radio.empty": "Ningún dispositivo de este router es ahora un punto de acceso.",
  "radio.off": "La potencia no se mira.",
  "radio.off.how":
    "Escribe esto en la configuración (/etc/weir/weir.toml) y vuelve a iniciar weir:",
  "radio.off.watch": "dice con qué se emite y qué llega, y no cambia nada",
  "radio.off.control": "baja la potencia mientras ninguna estación reciba menos por ello",

  "radio.power": "Potencia ahora",
  "radio.most": "Potencia máxima",
  "radio.enough": "Suficiente",
  "radio.enough.none": "aún no encontrada",
  "radio.why": "Por qué",
  "radio.untold": "El controlador no dice la potencia.",

  "reason.begin": "Empieza la búsqueda",
  "reason.idle": "Toda la potencia: no se envía a nadie",
  "reason.newcomer": "Toda la potencia: acaba de llegar una estación",
  "reason.silent": "Toda la potencia: una estación ya no se oye",
  "reason.edge": "Toda la potencia: una estación confirma demasiado débil",
  "reason.wall": "Toda la potencia: llega mucho menos que antes",
  "reason.reference": "Una mirada a la potencia máxima, para comparar",
  "reason.trial": "Se prueba menos potencia",
  "reason.kept": "Esta potencia basta, y se queda",
  "reason.lost": "Menos potencia no bastó",
  "reason.worse": "Lo que bastaba ya no basta",
  "reason.return": "De vuelta a lo que basta",

  "radio.stations": "Estaciones de {device}",
  "radio.stations.none": "No hay nadie.",
  "radio.stations.hint":
    "Llega: lo que recibiría una estación si se le enviara solo a ella todo el tiempo, según lo enviado en el último segundo.",
  "radio.station": "Estación",
  "radio.arrives": "Llega",
  "radio.expected": "Espera el controlador",
  "radio.sent": "Emitido con",
  "radio.signal": "Señal",
  "radio.decision": "Decidido por ella",

  "radio.picture": "{device}, los últimos {span}",
  "radio.picture.label":
    "{device}, los últimos {span}: potencia ahora {power}, entre {low} y {high}; lo más que llegó: {arrives}",
  "radio.picture.none": "En este tiempo no se probó nada.",
  "radio.picture.watch":
    'No se prueba nada, pues la potencia solo se mira, así que no hay nada que dibujar. Con mode = "control" en [radio.power] de la configuración, weir baja la potencia mientras ninguna estación reciba menos por ello.',
  "radio.panel.power": "Potencia",
  "radio.panel.arrives": "Lo que llega a la estación que decidió",
  "radio.panel.rate": "Velocidad con que se le envía",
  "radio.key.most": "con la potencia máxima",
  "radio.key.telling": "no bastó, o pasó algo",
  "radio.point": "Hace {time}: {power}. {reason}",
  "radio.point.arrives": "llega {rate}",
  "radio.point.reference": "con la potencia máxima {rate}",
  "radio.point.rate": "velocidad {rate}",
  "radio.steps": "Lo que se probó con {device}",
  "radio.at": "Hace",
  "radio.step.power": "Potencia",
  "radio.reference": "Con la máxima",
  "radio.rate": "Velocidad",

  "radio.peers": "Vecinos de {device}",
  "radio.peers.none": "No se oye ningún punto de acceso que tenga el secreto.",
  "radio.peers.open.one":
    "{count} vecino no está cifrado: quien esté cerca puede leer lo que pasa por él.",
  "radio.peers.open.other":
    "{count} vecinos no están cifrados: quien esté cerca puede leer lo que pasa por ellos.",
  "radio.device": "Dispositivo",
  "radio.state": "Estado",
  "radio.since": "Vecino desde hace",
  "radio.through": "Esperado",
  "radio.key": "Cifrado",
  "radio.key.shut": "cifrado",
  "radio.key.open": "sin cifrar",
  "radio.key.none": "aún nada",
  "state.seen": "Oído; lo siguiente es acordar una clave",
  "state.waiting": "Espera",
  "waits.faint": "Espera: es demasiado débil",
  "waits.full": "Espera: ya hay bastantes vecinos",
  "state.handshake": "Los dos acuerdan una clave",
  "state.installed": "Tiene aquí una clave; el otro lado aún debe confirmarla",
  "state.alive": "Conectado",
};
