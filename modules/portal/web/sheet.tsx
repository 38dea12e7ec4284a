import { language } from "@/text";
import { MOST, printable, sheetOf } from "./core/sheet";
import { plural, t } from "./text";
import type { PortalVoucher } from "./types";

/** Link to a sheet of unused vouchers, which the browser prints. */
export function SheetLink({ vouchers }: { vouchers: readonly PortalVoucher[] }) {
  const chosen = printable(vouchers);
  if (chosen.length === 0) return null;
  if (chosen.length > MOST) return <>{t("sheet.many")}</>;
  return (
    <a href={sheetOf(chosen, language.get())} target="_blank" rel="noreferrer">
      {plural("sheet.print", chosen.length)}
    </a>
  );
}
