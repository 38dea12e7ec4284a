import type { ComponentType } from "preact";
import type { Live } from "../api/live";
import type { Route } from "../core/route";
import type { Key } from "../text";

/** A view: what the page shows at `#/id` and below. */
export interface View {
  /** First part of the path, unique among all modules; empty for the first view of the page. */
  readonly id: string;
  /** Name in the navigation. */
  readonly title: Key;
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
  readonly title: Key;
  readonly views: readonly View[];
}
