import { DevicesIcon, FlowsIcon, HistoryIcon, OverviewIcon, PictureIcon } from "../../shell/icons";
import type { Module } from "../types";
import { Dashboard } from "./dashboard";
import { DevicesView } from "./devices";
import { FlowsView } from "./flows";
import { HistoryView } from "./history";
import { PictureView } from "./picture";

/** Who uses the network. */
export const monitor: Module = {
  id: "monitor",
  title: "module.monitor",
  views: [
    { id: "", title: "view.dashboard", icon: OverviewIcon, show: Dashboard },
    { id: "devices", title: "view.devices", icon: DevicesIcon, show: DevicesView },
    { id: "flows", title: "view.flows", icon: FlowsIcon, show: FlowsView },
    { id: "history", title: "view.history", icon: HistoryIcon, show: HistoryView },
    { id: "picture", title: "view.picture", icon: PictureIcon, show: PictureView },
  ],
};
