import type { Module } from "@/module";
import { SettingsIcon } from "./icons";
import { Settings } from "./settings";
import { t } from "./text";

/**
 * Module for the reader's own access. Language and appearance are next to the navigation, within
 * reach of every view.
 */
export const account: Module = {
  id: "account",
  place: 90,
  title: () => t("module.account"),
  views: [{ id: "settings", title: () => t("view.settings"), icon: SettingsIcon, show: Settings }],
};
