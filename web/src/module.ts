// Interface of a module with the page.
import type { ComponentType } from "preact";
import type { Live, Looks } from "./api/live";
import type { Route } from "./core/route";

/** A view: the content of the page at `#/id` and below. */
export interface View {
  /** First part of the path, unique among all modules; empty for the first view of the page. */
  readonly id: string;
  /** Name in the navigation, in the current language. */
  readonly title: () => string;
  readonly icon: ComponentType;
  /**
   * Draws the view. `route.path[0]` is `id`; the rest of the path, and the query, belong to the
   * view. Begins with `<Title>`.
   */
  readonly show: ComponentType<{ route: Route }>;
  /** True if the navigation shows the view, if that depends on the router. */
  readonly offered?: (now: Live) => boolean;
}

/** A part of weir that has views. The navigation shows it as a group. */
export interface Module {
  /** Keyword of the module, unique: `monitor`. */
  readonly id: string;
  /** Position of its group in the navigation: smaller is higher. */
  readonly place: number;
  readonly title: () => string;
  readonly views: readonly View[];
  /** Requests with every poll of the router; requests of only one view belong to the view. */
  readonly looks?: Looks;
  /** Shown above every view of the page, for urgent notices. */
  readonly above?: ComponentType;
}

/** Modules in the order of the navigation. */
export function inOrder(modules: Readonly<Record<string, Module>>): Module[] {
  return Object.values(modules).sort((a, b) => a.place - b.place);
}

/** The module with the view of a route. */
export function moduleOf(modules: readonly Module[], path: readonly string[]): Module | undefined {
  const id = path[0] ?? "";
  return modules.find((module) => module.views.some((view) => view.id === id));
}

/** The view of a route. */
export function viewOf(modules: readonly Module[], path: readonly string[]): View | undefined {
  const id = path[0] ?? "";
  return moduleOf(modules, path)?.views.find((view) => view.id === id);
}
