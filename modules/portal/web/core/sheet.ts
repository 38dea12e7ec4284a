// Which vouchers are printed on a sheet. Pure.
import type { PortalVoucher } from "../types";

/** Ids that an address has room for. */
export const MOST = 500;

/** Those of them that are of use to somebody who gets them. */
export function printable(vouchers: readonly PortalVoucher[]): PortalVoucher[] {
  return vouchers.filter(({ state }) => state === "available");
}

/** Where the router has the sheet. */
export function sheetOf(vouchers: readonly PortalVoucher[], language: string): string {
  const ids = vouchers.map(({ id }) => id).join(",");
  return `/api/v1/portal/sheet?vouchers=${ids}&language=${language}`;
}
