import { t } from "./text";
import type { PortalVoucher } from "./types";

/** Leads whoever scans it to the portal's page, with the code in it. Always black on white. */
export function QrCode({ voucher }: { voucher: PortalVoucher }) {
  if (voucher.qr === undefined) return null;
  const { side, path } = voucher.qr;
  return (
    <svg
      class="qr"
      role="img"
      aria-label={t("sale.qr", { code: voucher.code })}
      viewBox={`0 0 ${side} ${side}`}
      shape-rendering="crispEdges"
    >
      <path class="light" d={`M0 0h${side}v${side}H0z`} />
      <path class="dark" d={path} />
    </svg>
  );
}
