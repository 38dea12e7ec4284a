import type { Module } from "@/module";
import { CablesIcon } from "./icons";
import { t } from "./text";
import { CablesView } from "./view";
import "./style.css";

/** What is at the other end of each cable. */
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
