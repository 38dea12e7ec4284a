// Spanish.
import type { Translated } from "../../../text";
import type { en } from "./en";

export const es: Translated<typeof en> = {
  "module.cables": "Cables",
  "view.cables": "Puertos",

  "cables.count.one": "{count} puerto",
  "cables.count.other": "{count} puertos",
  "cables.mode.suggest": "se dice lo que se encuentra, y no se cambia nada",
  "cables.mode.auto": "los puertos se usan para lo que se encontró",
  "cables.empty":
    "No se mira ningún puerto: no hay ninguna toma Ethernet, o ninguna de las nombradas (ports en [cables]).",
  "cables.off": "Los puertos no se miran.",
  "cables.off.how":
    "Escribe esto en la configuración (/etc/weir/weir.toml) y vuelve a iniciar weir:",
  "cables.off.then":
    "Entonces weir averigua qué hay en el otro extremo de cada cable y lo dice aquí. No cambia nada.",

  "cables.sockets": "Tomas",
  "cables.choose": "Elige un puerto para ver más de él",
  "cables.changed": "{device} es ahora: {role}",
  "cables.sure": "seguro al {share}",
  "cables.warnings.one": "{count} aviso",
  "cables.warnings.other": "{count} avisos",
  "cables.gone": "Ahora no hay ningún puerto {device}.",

  "cables.why": "Por qué",
  "cables.change": "Qué lo cambiaría",
  "cables.now": "Se usa ahora para",
  "cables.now.lan": "la LAN",
  "cables.now.uplink": "el camino a Internet",
  "cables.now.mesh": "la malla",
  "cables.now.none": "nada",
  "cables.held": "Lo mantiene",
  "cables.held.administrator": "tu elección",
  "cables.held.connection": "tu propia conexión, que llega por él",
  "cables.decided": "Decidido",
  "cables.after": "{time} después del enlace",

  "cables.heard": "Lo que se oyó",
  "cables.heard.hint": "Los tiempos cuentan desde el enlace.",
  "cables.heard.none": "Nada: no hay enlace.",
  "cables.heard.link": "Llegó el enlace",
  "cables.heard.decided": "Decidido: {role}",

  "cables.choice": "Tu elección",
  "cables.choice.hint":
    "Lo que eliges vale, se oiga lo que se oiga, y también después de un reinicio.",
  "cables.accept": "Aceptar",
  "cables.accept.role": "Aceptar: {role}",
  "cables.auto": "Averiguar de nuevo",
  "cables.keep": "Mantener como",
  "cables.keep.do": "Mantener",
  "cables.kept.short": "se mantiene",
  "cables.kept": "Se mantiene como: {role}.",
  "cables.released": "Weir averigua de nuevo qué hay.",

  "role.uplink": "Internet",
  "role.mesh": "Malla",
  "role.radio": "Radio",
  "role.client": "Dispositivo",
  "role.border": "Frontera",
  "role.switch": "Switch",
  "role.loop": "Bucle",
  "role.unknown": "Desconocido",
  "role.listening": "Escuchando",
  "role.none": "Sin enlace",
  "role.what.uplink": "Un camino a Internet.",
  "role.what.mesh": "Otro nodo de esta malla.",
  "role.what.radio": "Una radio que se usa como un cable.",
  "role.what.client": "Un ordenador, una impresora, un teléfono.",
  "role.what.border": "La malla de otra red.",
  "role.what.switch": "Un switch con varios dispositivos detrás.",
  "role.what.loop": "El cable vuelve a este router.",
  "role.what.unknown": "No hay nadie, o no se puede saber.",
  "role.what.listening": "Se está averiguando qué hay.",
  "role.what.none": "No hay nada enchufado, o está apagado.",
};
