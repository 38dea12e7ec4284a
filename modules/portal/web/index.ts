import type { Live } from "@/api/live";
import type { Module } from "@/module";
import { DaysView } from "./days";
import { GuestsView } from "./guests";
import { DaysIcon, GuestsIcon, VouchersIcon, WelcomeIcon } from "./icons";
import { t } from "./text";
import { VouchersView } from "./vouchers";
import { WelcomeView } from "./welcome";
import "./style.css";

const offered = ({ status }: Live) => status?.modules.includes("portal") === true;

/** Module for guests' access and its limits. */
export const portal: Module = {
  id: "portal",
  place: 30,
  title: () => t("module.portal"),
  views: [
    { id: "guests", title: () => t("view.guests"), icon: GuestsIcon, show: GuestsView, offered },
    {
      id: "vouchers",
      title: () => t("view.vouchers"),
      icon: VouchersIcon,
      show: VouchersView,
      offered,
    },
    { id: "days", title: () => t("view.days"), icon: DaysIcon, show: DaysView, offered },
    {
      id: "welcome",
      title: () => t("view.welcome"),
      icon: WelcomeIcon,
      show: WelcomeView,
      offered,
    },
  ],
};
