// Spanish.
import type { Translated } from ".";
import type { en } from "./en";

export const es: Translated<typeof en> = {
  "brand.tagline": "Quién usa la red",
  "nav.label": "Vistas",
  "nav.menu": "Menú",
  "nav.skip": "Ir al contenido",
  "nav.language": "Idioma",
  "nav.language.failed": "No se pudo cargar este idioma. Inténtelo de nuevo.",
  "nav.theme": "Apariencia",
  "nav.theme.auto": "Como el sistema",
  "nav.theme.light": "Clara",
  "nav.theme.dark": "Oscura",

  "common.received": "Recibido",
  "common.sent": "Enviado",
  "common.download": "Descarga",
  "common.upload": "Subida",
  "common.total": "Total",
  "common.name": "Nombre",
  "common.address": "Dirección",
  "common.mac": "Dirección de hardware",
  "common.port": "Puerto",
  "common.share": "Parte",
  "common.others": "Otros",
  "common.none": "ninguno",
  "common.loading": "Cargando …",
  "common.retry": "Intentar de nuevo",
  "common.more": "Mostrar más",
  "common.shown": "{shown} de {total}",
  "common.details": "Cifras en una tabla",
  "common.bytes": "Volumen",
  "common.uplink": "Conexión a Internet",

  "error.offline": "El router no responde.",
  "error.offline.hint": "¿Hay conexión con él? La página sigue intentándolo.",
  "error.stale": "El router no responde; lo que ve es anterior. La página sigue intentándolo.",
  "error.status": "El router respondió con el error {status}.",
  "error.view": "Se produjo un error en esta vista.",
  "error.view.hint": "Ábrala de nuevo; si vuelve a ocurrir, avísenos, por favor.",
  "error.unknown.title": "Aquí no hay nada",
  "error.unknown": "Ninguna vista tiene esta dirección. Elija una en la navegación.",

  "login.title": "Iniciar sesión",
  "login.password": "Contraseña",
  "login.submit": "Iniciar sesión",
  "login.first": "Elegir una contraseña",
  "login.first.text":
    "Nadie ha elegido todavía una contraseña. La primera se puede poner aquí, desde el propio " +
    "router, o allí con la orden weir passwd.",
  "login.first.elsewhere":
    "Nadie ha elegido todavía una contraseña. Quien tenga la consola del router puede poner aquí la " +
    "primera, con un código; o en el propio router, con la orden weir passwd.",
  "login.code": "Código",
  "login.code.hint": "Lo dice la consola del router: weir passwd --claim",
  "login.new": "Contraseña nueva",
  "login.repeat": "Contraseña nueva otra vez",
  "login.set": "Guardar la contraseña",
  "login.short": "Al menos 8 caracteres.",
  "login.different": "Las dos no son iguales.",
  "login.show": "Mostrar",
  "login.out": "Cerrar sesión",

  "chart.label":
    "{name}: ahora descarga {down}, subida {up}; máximos de los últimos {span}: descarga " +
    "{peak_down}, subida {peak_up}",
  "chart.peak": "máximo {value}",
  "chart.keys": "Las flechas izquierda y derecha leen cada punto.",
  "chart.point": "{time}: descarga {down}, subida {up}",
  "chart.waiting": "La línea crece mientras esta página está abierta.",
};
