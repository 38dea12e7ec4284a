// The current route, from the browser's address.
import { formatRoute, parseRoute, type Route } from "../core/route";
import { Store } from "../core/store";

export const route = new Store<Route>(parseRoute(""));

/** Starts to follow the address. */
export function startRouter(): void {
  const read = () => route.set(parseRoute(location.hash));
  window.addEventListener("hashchange", read);
  read();
}

/**
 * Changes the query of the current route, without a new entry in the browser's history: going back
 * skips filters.
 */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const now = route.get();
  const query = { ...now.query, ...changes };
  window.history.replaceState(null, "", formatRoute(now.path, query));
  route.set(parseRoute(location.hash));
}
