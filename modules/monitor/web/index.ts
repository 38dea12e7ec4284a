import type { Module } from "@/module";
import { ConversationsView } from "./conversations";
import { Dashboard } from "./dashboard";
import { DevicesView } from "./devices";
import { HistoryView } from "./history";
import { ConversationsIcon, DevicesIcon, HistoryIcon, OverviewIcon, PictureIcon } from "./icons";
import { PictureView } from "./picture";
import { t } from "./text";
import "./style.css";

/** Module for devices and their traffic. */
export const monitor: Module = {
  id: "monitor",
  place: 10,
  title: () => t("module.monitor"),
  views: [
    { id: "", title: () => t("view.dashboard"), icon: OverviewIcon, show: Dashboard },
    { id: "devices", title: () => t("view.devices"), icon: DevicesIcon, show: DevicesView },
    {
      id: "conversations",
      title: () => t("view.conversations"),
      icon: ConversationsIcon,
      show: ConversationsView,
    },
    { id: "history", title: () => t("view.history"), icon: HistoryIcon, show: HistoryView },
    { id: "picture", title: () => t("view.picture"), icon: PictureIcon, show: PictureView },
  ],
};
