// The route of now, from the browser's address.
import { formatRoute, parseRoute, type Route } from "../core/route";
import { Store } from "../core/store";

export const route = new Store<Route>(parseRoute(""));

/** Begins to follow the address. */
export function startRouter(): void {
  const read = () => route.set(parseRoute(location.hash));
  window.addEventListener("hashchange", read);
  read();
}

/**
 * Changes the query of the route of now, without a new entry in the browser's history: a filter is
 * not a place to go back to.
 */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const now = route.get();
  const query = { ...now.query, ...changes };
  window.history.replaceState(null, "", formatRoute(now.path, query));
  route.set(parseRoute(location.hash));
}
