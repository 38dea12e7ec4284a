import type { Module } from "@/module";
import { RadioIcon } from "./icons";
import { t } from "./text";
import { RadioView } from "./view";
import "./style.css";

/** Transmit power of access points, and access points that are peers. */
export const radio: Module = {
  id: "radio",
  place: 55,
  title: () => t("module.radio"),
  views: [
    {
      id: "radio",
      title: () => t("view.radio"),
      icon: RadioIcon,
      show: RadioView,
      offered: ({ status }) => status?.modules.includes("radio") === true,
    },
  ],
};
