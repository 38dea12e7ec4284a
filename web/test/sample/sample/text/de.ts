// German.
import type { Translated } from "@/text";
import type { en } from "./en";

export const de: Translated<typeof en> = {
  "module.sample": "Muster",
  "view.greeting": "Willkommen",

  "greeting.hello": "Hallo, {whom}!",
  "greeting.greeted.one": "{count} Mal willkommen geheißen",
  "greeting.greeted.other": "{count} Mal willkommen geheißen",
};
