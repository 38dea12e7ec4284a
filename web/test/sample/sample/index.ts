import type { Module } from "../../../src/modules/module";
import { GreetingView } from "./greeting";
import { GreetingIcon } from "./icons";
import { t } from "./text";
import "./style.css";

/** A module that has one of everything: it greets. */
export const sample: Module = {
  id: "sample",
  place: 30,
  title: () => t("module.sample"),
  views: [
    {
      id: "greeting",
      title: () => t("view.greeting"),
      icon: GreetingIcon,
      show: GreetingView,
      offered: ({ status }) => status?.sample !== undefined,
    },
  ],
};
