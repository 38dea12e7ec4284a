// Every module of the page, in the order of the navigation. A new one is a folder beside `monitor`,
// and a line here.
import { account } from "./account";
import { monitor } from "./monitor";
import { multipath } from "./multipath";
import type { Module, View } from "./types";

export const modules: readonly Module[] = [monitor, multipath, account];

/** The view that a route belongs to. */
export function viewOf(path: readonly string[]): View | undefined {
  const id = path[0] ?? "";
  return modules.flatMap((module) => module.views).find((view) => view.id === id);
}
