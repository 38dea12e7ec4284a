// What a module is to the page.
import type { ComponentType } from "preact";
import type { Live, Looks } from "./api/live";
import type { Route } from "./core/route";

/** A view: what the page shows at `#/id` and below. */
export interface View {
  /** First part of the path, unique among all modules; empty for the first view of the page. */
  readonly id: string;
  /** Name in the navigation, in the language of now. */
  readonly title: () => string;
  readonly icon: ComponentType;
  /**
   * Draws it. `route.path[0]` is `id`; what follows, and the query, are the view's own. It begins
   * with `<Title>`.
   */
  readonly show: ComponentType<{ route: Route }>;
  /** Whether the navigation shows it, where that depends on the router. */
  readonly offered?: (now: Live) => boolean;
}

/** A part of weir that has views. The navigation shows it as a group. */
export interface Module {
  /** Word for it, unique: `monitor`. */
  readonly id: string;
  /** Where its group stands in the navigation: the smaller, the higher. */
  readonly place: number;
  readonly title: () => string;
  readonly views: readonly View[];
  /** What it asks for with every look at the router; what only a view needs, the view asks for. */
  readonly looks?: Looks;
  /** Stands above every view of the page, where there is something that cannot wait. */
  readonly above?: ComponentType;
}

/** Modules as the navigation shows them. */
export function inOrder(modules: Readonly<Record<string, Module>>): Module[] {
  return Object.values(modules).sort((a, b) => a.place - b.place);
}

/** The module whose view a route belongs to. */
export function moduleOf(modules: readonly Module[], path: readonly string[]): Module | undefined {
  const id = path[0] ?? "";
  return modules.find((module) => module.views.some((view) => view.id === id));
}

/** The view that a route belongs to. */
export function viewOf(modules: readonly Module[], path: readonly string[]): View | undefined {
  const id = path[0] ?? "";
  return moduleOf(modules, path)?.views.find((view) => view.id === id);
}
