// Italian.
import type { Translated } from ".";
import type { en } from "./en";

export const it: Translated<typeof en> = {
  "brand.tagline": "Chi usa la rete",
  "nav.label": "Viste",
  "nav.menu": "Menu",
  "nav.skip": "Vai al contenuto",
  "nav.language": "Lingua",
  "nav.language.failed": "Non è stato possibile caricare questa lingua. Riprova.",
  "nav.theme": "Aspetto",
  "nav.theme.auto": "Come il sistema",
  "nav.theme.light": "Chiaro",
  "nav.theme.dark": "Scuro",

  "common.received": "Ricevuto",
  "common.sent": "Inviato",
  "common.download": "Download",
  "common.upload": "Upload",
  "common.total": "Totale",
  "common.name": "Nome",
  "common.address": "Indirizzo",
  "common.mac": "Indirizzo hardware",
  "common.port": "Porta",
  "common.share": "Quota",
  "common.others": "Altri",
  "common.none": "nessuno",
  "common.loading": "Caricamento …",
  "common.retry": "Riprova",
  "common.more": "Mostra altri",
  "common.shown": "{shown} di {total}",
  "common.details": "Cifre in tabella",
  "common.bytes": "Volume",
  "common.uplink": "Accesso a Internet",

  "error.offline": "Il router non risponde.",
  "error.offline.hint": "C’è il collegamento con il router? La pagina continua a provare.",
  "error.stale":
    "Il router non risponde; quello che vedi è meno recente. La pagina continua a provare.",
  "error.status": "Il router ha risposto con l’errore {status}.",
  "error.view": "In questa vista si è verificato un errore.",
  "error.view.hint": "Aprila di nuovo; se si ripete, segnalalo per favore.",
  "error.unknown.title": "Qui non c’è niente",
  "error.unknown": "Nessuna vista ha questo indirizzo. Scegline una dalla navigazione.",

  "login.title": "Accedi",
  "login.password": "Password",
  "login.submit": "Accedi",
  "login.first": "Scegli una password",
  "login.first.text":
    "Nessuno ha ancora scelto una password. La prima si può impostare qui, dal router stesso, " +
    "oppure lì con il comando weir passwd.",
  "login.first.elsewhere":
    "Nessuno ha ancora scelto una password. Chi ha la console del router può impostare qui la " +
    "prima, con un codice; o sul router stesso, con il comando weir passwd.",
  "login.code": "Codice",
  "login.code.hint": "Lo dice la console del router: weir passwd --claim",
  "login.new": "Nuova password",
  "login.repeat": "Nuova password ancora una volta",
  "login.set": "Salva la password",
  "login.short": "Almeno 8 caratteri.",
  "login.different": "Le due non sono uguali.",
  "login.show": "Mostra",
  "login.out": "Esci",

  "chart.label":
    "{name}: ora download {down}, upload {up}; massimi degli ultimi {span}: download " +
    "{peak_down}, upload {peak_up}",
  "chart.peak": "massimo {value}",
  "chart.keys": "Le frecce sinistra e destra leggono i singoli punti.",
  "chart.point": "{time}: download {down}, upload {up}",
  "chart.waiting": "La linea cresce finché questa pagina è aperta.",
};
