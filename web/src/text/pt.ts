// Portuguese.
import type { Translated } from ".";
import type { en } from "./en";

export const pt: Translated<typeof en> = {
  "brand.tagline": "Quem usa a rede",
  "nav.label": "Vistas",
  "nav.menu": "Menu",
  "nav.skip": "Ir para o conteúdo",
  "nav.language": "Idioma",
  "nav.language.failed": "Não foi possível carregar este idioma. Tente de novo.",
  "nav.theme": "Aparência",
  "nav.theme.auto": "Como o sistema",
  "nav.theme.light": "Clara",
  "nav.theme.dark": "Escura",

  "common.received": "Recebido",
  "common.sent": "Enviado",
  "common.download": "Download",
  "common.upload": "Upload",
  "common.total": "Total",
  "common.name": "Nome",
  "common.address": "Endereço",
  "common.mac": "Endereço de hardware",
  "common.port": "Porta",
  "common.share": "Parte",
  "common.others": "Outros",
  "common.none": "nenhum",
  "common.loading": "A carregar …",
  "common.retry": "Tentar de novo",
  "common.more": "Mostrar mais",
  "common.shown": "{shown} de {total}",
  "common.details": "Números em tabela",
  "common.bytes": "Volume",
  "common.uplink": "Ligação à Internet",

  "error.offline": "O router não responde.",
  "error.offline.hint": "Há ligação com ele? A página continua a tentar.",
  "error.stale": "O router não responde; o que vê é mais antigo. A página continua a tentar.",
  "error.status": "O router respondeu com o erro {status}.",
  "error.view": "Ocorreu um erro nesta vista.",
  "error.view.hint": "Abra-a de novo; se voltar a acontecer, avise-nos, por favor.",
  "error.unknown.title": "Aqui não há nada",
  "error.unknown": "Nenhuma vista tem este endereço. Escolha uma na navegação.",

  "login.title": "Entrar",
  "login.password": "Senha",
  "login.submit": "Entrar",
  "login.first": "Definir uma senha",
  "login.first.text":
    "Ainda ninguém definiu uma senha. A primeira pode ser definida aqui, a partir do próprio " +
    "router, ou lá com o comando weir passwd.",
  "login.first.elsewhere":
    "Ainda ninguém definiu uma senha. Quem tem a consola do router pode definir aqui a primeira, " +
    "com um código; ou no próprio router, com o comando weir passwd.",
  "login.code": "Código",
  "login.code.hint": "A consola do router indica-o: weir passwd --claim",
  "login.new": "Senha nova",
  "login.repeat": "Senha nova outra vez",
  "login.set": "Guardar a senha",
  "login.short": "Pelo menos 8 caracteres.",
  "login.different": "As duas não são iguais.",
  "login.show": "Mostrar",
  "login.out": "Sair",

  "chart.label":
    "{name}: agora download {down}, upload {up}; máximos dos últimos {span}: download " +
    "{peak_down}, upload {peak_up}",
  "chart.peak": "máximo {value}",
  "chart.keys": "As setas para a esquerda e para a direita leem cada ponto.",
  "chart.point": "{time}: download {down}, upload {up}",
  "chart.waiting": "A linha cresce enquanto esta página está aberta.",
};
