// Vouchers printed on a sheet. Pure.
import type { PortalVoucher } from "../types";

/** Most ids that fit into an address. */
export const MOST = 500;

/** Vouchers that are still usable. */
export function printable(vouchers: readonly PortalVoucher[]): PortalVoucher[] {
  return vouchers.filter(({ state }) => state === "available");
}

/** Address of the router's sheet. */
export function sheetOf(vouchers: readonly PortalVoucher[], language: string): string {
  const ids = vouchers.map(({ id }) => id).join(",");
  return `/api/v1/portal/sheet?vouchers=${ids}&language=${language}`;
}
