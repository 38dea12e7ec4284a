import type { Module } from "@/module";
import { CablesIcon } from "./icons";
import { t } from "./text";
import { CablesView } from "./view";
import "./style.css";

/** Module for the roles of ports. */
export const cables: Module = {
  id: "cables",
  place: 50,
  title: () => t("module.cables"),
  views: [
    {
      id: "cables",
      title: () => t("view.cables"),
      icon: CablesIcon,
      show: CablesView,
      offered: ({ status }) => status?.modules.includes("cables") === true,
    },
  ],
};
