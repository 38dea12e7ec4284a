// Addresses within the page: `#/devices/02:00:5e:10:00:01?sort=rate`. Behind #, so that the server
// need not know them.

export interface Route {
  /** Parts of the path, decoded: `["devices", "02:00:5e:10:00:01"]`. Empty is the first view. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray % is a character like any other here.
    return text;
  }
}

/** Parses the part behind #. Never fails: an invalid one becomes a route without a view. */
export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const query: Record<string, string> = Object.create(null);
  if (mark >= 0) {
    for (const [name, value] of new URLSearchParams(text.slice(mark + 1))) query[name] = value;
  }
  return { path: path.split("/").filter(Boolean).map(decoded), query };
}

/** Formats a route as text. Empty values are left out. */
export function formatRoute(
  path: readonly string[],
  query: Readonly<Record<string, string>> = {},
): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const behind = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  return `#/${path.map(encodeURIComponent).join("/")}${behind}`;
}
