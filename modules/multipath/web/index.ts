import type { Module } from "@/module";
import { PathsIcon } from "./icons";
import { looks } from "./live";
import { PathsView } from "./paths";
import { t } from "./text";
import "./style.css";

/** Module for several uplinks that are used as one. */
export const multipath: Module = {
  id: "multipath",
  place: 20,
  title: () => t("module.multipath"),
  looks,
  views: [
    {
      id: "paths",
      title: () => t("view.paths"),
      icon: PathsIcon,
      show: PathsView,
      offered: ({ status }) => status?.multipath !== undefined,
    },
  ],
};
