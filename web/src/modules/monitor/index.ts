import type { Module } from "../module";
import { Dashboard } from "./dashboard";
import { DevicesView } from "./devices";
import { FlowsView } from "./flows";
import { HistoryView } from "./history";
import { DevicesIcon, FlowsIcon, HistoryIcon, OverviewIcon, PictureIcon } from "./icons";
import { PictureView } from "./picture";
import { t } from "./text";
import "./style.css";

/** Who uses the network. */
export const monitor: Module = {
  id: "monitor",
  place: 10,
  title: () => t("module.monitor"),
  views: [
    { id: "", title: () => t("view.dashboard"), icon: OverviewIcon, show: Dashboard },
    { id: "devices", title: () => t("view.devices"), icon: DevicesIcon, show: DevicesView },
    { id: "flows", title: () => t("view.flows"), icon: FlowsIcon, show: FlowsView },
    { id: "history", title: () => t("view.history"), icon: HistoryIcon, show: HistoryView },
    { id: "picture", title: () => t("view.picture"), icon: PictureIcon, show: PictureView },
  ],
};
