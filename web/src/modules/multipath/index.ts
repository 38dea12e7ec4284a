import { PathsIcon } from "../../shell/icons";
import type { Module } from "../types";
import { PathsView } from "./paths";

/** Several uplinks that are used as one. */
export const multipath: Module = {
  id: "multipath",
  title: "module.multipath",
  views: [
    {
      id: "paths",
      title: "view.paths",
      icon: PathsIcon,
      show: PathsView,
      offered: ({ status }) => status?.multipath !== undefined,
    },
  ],
};
