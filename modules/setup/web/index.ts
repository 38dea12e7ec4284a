import type { Module } from "@/module";
import { SetupIcon } from "./icons";
import { PendingAbove } from "./pending";
import { forget } from "./store";
import { t } from "./text";
import { SetupView } from "./view";
import "./style.css";
import "./steps/services.css";
import "./summary.css";

/** Module for the setup of a fresh router. */
export const setup: Module = {
  id: "setup",
  place: 80,
  title: () => t("module.setup"),
  views: [{ id: "setup", title: () => t("view.setup"), icon: SetupIcon, show: SetupView }],
  looks: { look: async () => {}, forget },
  above: PendingAbove,
};
