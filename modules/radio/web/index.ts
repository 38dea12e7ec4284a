import type { Module } from "@/module";
import { RadioIcon } from "./icons";
import { t } from "./text";
import { RadioView } from "./view";
import "./style.css";

/** Module for transmit power of access points, and for peer access points. */
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
