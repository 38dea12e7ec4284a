import type { Module } from "@/module";
import { GreetingView } from "./greeting";
import { GreetingIcon } from "./icons";
import { t } from "./text";
import "./style.css";

/** A module that greets: a view, texts, an icon, a style, and a part of the status. */
export const sample: Module = {
  id: "sample",
  place: 40,
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
