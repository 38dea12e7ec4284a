// The exact difference, as it is shown. Pure.
import type { Line } from "../types";

export interface Group {
  /** The package: `network`. */
  name: string;
  lines: Line[];
}

/** Lines by the file that they are of, in the order of the files. */
export function grouped(lines: readonly Line[]): Group[] {
  const groups = new Map<string, Line[]>();
  for (const line of lines) {
    const name = line.address.split(".")[0] ?? "";
    groups.set(name, [...(groups.get(name) ?? []), line]);
  }
  return [...groups].map(([name, of]) => ({ name, lines: of }));
}

/** As `weir setup diff` writes it, without the sign. */
export const written = ({ address, value, list }: Line): string =>
  `${address}${list ? "+=" : "="}${value}`;

/** Where the page of the router is after a change of its address. */
export function pageAt(address: string, here: { protocol: string; port: string }): string {
  const host = address.includes(":") ? `[${address}]` : address;
  return `${here.protocol}//${host}${here.port === "" ? "" : `:${here.port}`}/#/setup`;
}
