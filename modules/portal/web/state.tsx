import { t, word } from "./text";
import type { PortalVoucher } from "./types";

const TONES: Record<string, string> = { available: "own", active: "good" };

export function StateTag({ voucher }: { voucher: PortalVoucher }) {
  const tone = TONES[voucher.state] ?? "";
  return (
    <>
      <span class={`tag ${tone}`}>{word("voucher.state", voucher.state)}</span>
      {voucher.double_use !== null && (
        <>
          {" "}
          <span class="tag bad">{t("vouchers.twice")}</span>
        </>
      )}
    </>
  );
}
