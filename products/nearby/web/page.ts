// The page of weir-nearby: peers, messages, and a box to write one.

import { plain } from "@/core/plain";
import { make } from "@/parts/make";
import { Bell } from "./core/bell";
import { askToken } from "./parts/entry";
import { Messages, set } from "./parts/messages";
import { Peers } from "./parts/peers";
import { listen, past, peers } from "./parts/source";
import { Speak } from "./parts/speak";
import { languageOf, says } from "./text";

/** Pause between two requests of a kind, ms: combines many events. */
const REST = 250;
/** Interval of polls of peers and signals, ms. */
const LOOK = 3_000;

const language = languageOf(navigator.language);
const say = says(language);
/** Locale of times. */
const locale = languageOf(navigator.language) === "de" ? navigator.language : "en-GB";
document.documentElement.lang = language;
document.title = `${say("title")}: weir`;

const near = new Peers(say, locale);
const said = new Messages(say, locale);
const box = new Speak(say, () => news.ring());
const state = make("p", { class: "state", role: "status" }, say("connecting"));
const lost = make("p", { class: "notice warn", role: "alert", hidden: true });
const goings = make("p", { class: "hidden", role: "status" });

const news = new Bell(async () => said.show(await past(), Date.now()), REST);
const people = new Bell(async () => {
  const told = await peers();
  near.show(told.peers, told.now);
  box.show(told.peers);
}, REST);

const card = (title: string, ...children: Node[]) =>
  make("section", { class: "card" }, make("h2", {}, title), ...children);
const main = make("main", { id: "main", tabindex: "-1" });
const room = [
  make(
    "div",
    { class: "room" },
    card(say("messages"), said.element, box.element),
    card(say("peers"), near.element),
  ),
];

const skip = make("a", { class: "skip", href: "#main" }, say("skip"));
const brand = make(
  "h1",
  { class: "brand" },
  make("img", { src: "/icon.svg", alt: "", width: "28", height: "28" }),
  say("title"),
);
document
  .querySelector("#page")
  ?.replaceChildren(skip, make("header", { class: "top" }, brand, state), lost, goings, main);
main.replaceChildren(...room);

let connected = false;
let before = false;
void listen({
  on() {
    set(state, say(before ? "again" : "connected"));
    [connected, before, lost.hidden] = [true, true, true];
    news.ring();
    people.ring();
  },
  said({ event, peer }) {
    if (event === "near" || event === "gone") {
      const key = event === "near" ? "isNear" : "isGone";
      goings.textContent = say(key, { peer: plain(peer ?? "", 16) });
    } else {
      news.ring();
    }
    people.ring();
  },
  off() {
    if (!connected && before) return;
    connected = false;
    const time = new Date().toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit" });
    lost.textContent = say("lost", { time });
    lost.hidden = false;
    set(state, "");
    before = true;
  },
  async shut() {
    [state.hidden, lost.hidden] = [true, true];
    brand.hidden = true;
    await askToken(say, main);
    [state.hidden, brand.hidden] = [false, false];
    main.replaceChildren(...room);
    document.querySelector<HTMLElement>("#text")?.focus();
  },
});
setInterval(() => {
  if (connected && !document.hidden) people.ring();
}, LOOK);
