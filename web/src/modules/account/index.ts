import { SettingsIcon } from "../../shell/icons";
import type { Module } from "../types";
import { Settings } from "./settings";

/**
 * What concerns the reader's own access. Language and appearance are beside the navigation, within
 * reach of every view.
 */
export const account: Module = {
  id: "account",
  title: "module.account",
  views: [{ id: "settings", title: "view.settings", icon: SettingsIcon, show: Settings }],
};
