// The exact difference, in display form. Pure.
import type { Line } from "../types";

export interface Group {
  /** The package: `network`. */
  name: string;
  lines: Line[];
}

/** Lines by file, in the order of the files. */
export function grouped(lines: readonly Line[]): Group[] {
  const groups = new Map<string, Line[]>();
  for (const line of lines) {
    const name = line.address.split(".")[0] ?? "";
    groups.set(name, [...(groups.get(name) ?? []), line]);
  }
  return [...groups].map(([name, of]) => ({ name, lines: of }));
}

/** Line as `weir setup diff` writes it, without the sign. */
export const written = ({ address, value, list }: Line): string =>
  `${address}${list ? "+=" : "="}${value}`;

/** Address of the router's page after a change of its address. */
export function pageAt(address: string, here: { protocol: string; port: string }): string {
  const host = address.includes(":") ? `[${address}]` : address;
  return `${here.protocol}//${host}${here.port === "" ? "" : `:${here.port}`}/#/setup`;
}
