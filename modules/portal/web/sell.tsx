// A voucher sold in two taps: how long, and "sell". All other fields have defaults.
import { useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { get, send } from "@/api/client";
import { formatRoute } from "@/core/route";
import { Field, Notice, Segments } from "@/parts/basic";
import { FailureNotice } from "@/parts/failure";
import { QrCode } from "@/parts/qr";
import { format } from "@/text";
import {
  asked,
  BOUNDS,
  COUNTS,
  type Numbers,
  type Sale,
  TIMES,
  USUAL_SALE,
  wrong,
} from "./core/sale";
import { SheetLink } from "./sheet";
import { plural, t } from "./text";
import type { PortalVoucher, PortalVouchers } from "./types";

export function Sell() {
  const [sale, setSale] = useState<Sale>(USUAL_SALE);
  const [unfit, setUnfit] = useState<Numbers | null>(null);
  const selling = useAction<PortalVoucher[]>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const field = wrong(sale);
    setUnfit(field);
    if (field !== null) return;
    await selling.run(async () => {
      const made = await send<PortalVouchers>("portal/vouchers", asked(sale));
      const [first, ...more] = made.vouchers;
      if (more.length > 0) return made.vouchers;
      return [await get<PortalVoucher>(`portal/vouchers/${first?.id ?? ""}`)];
    });
  };
  const change = (part: Partial<Sale>) => setSale({ ...sale, ...part });
  const number = (field: Numbers) => {
    const [least, most] = BOUNDS[field];
    const bounds = { least: format().count(least), most: format().count(most) };
    return (
      <Field
        id={`sale-${field}`}
        label={t(`sale.${field}`)}
        value={sale[field]}
        set={(text) => change({ [field]: text })}
        numeric
        wrong={unfit === field ? t("sale.wrong", bounds) : null}
      />
    );
  };
  return (
    <>
      <form class="form sale" onSubmit={submit} noValidate>
        <Segments
          name="time"
          label={t("sale.time")}
          value={sale.time}
          options={TIMES.map((time) => [time, t(`sale.time.${time}`)] as const)}
          choose={(time) => change({ time: time as Sale["time"] })}
        />
        <details open={unfit !== null}>
          <summary>{t("sale.more")}</summary>
          <div class="form">
            <Field
              id="sale-name"
              label={t("sale.name")}
              value={sale.name}
              set={(name) => change({ name })}
            />
            {number("count")}
            {number("devices")}
            {number("megabytes")}
            {number("megabits")}
            {sale.time !== "0" && (
              <Segments
                name="counts"
                label={t("sale.counts")}
                value={sale.counts}
                options={COUNTS.map((counts) => [counts, t(`sale.counts.${counts}`)] as const)}
                choose={(counts) => change({ counts: counts as Sale["counts"] })}
              />
            )}
          </div>
        </details>
        <button type="submit" class="button primary" aria-disabled={selling.busy}>
          {t("sale.sell")}
        </button>
      </form>
      {selling.failure !== null && <FailureNotice failure={selling.failure} />}
      <div aria-live="polite">{selling.done !== null && <Sold vouchers={selling.done} />}</div>
    </>
  );
}

/** A voucher to scan from the screen, or many to print. */
function Sold({ vouchers }: { vouchers: PortalVoucher[] }) {
  const [first] = vouchers;
  if (first === undefined) return null;
  if (vouchers.length > 1) {
    return (
      <div class="sold">
        <Notice kind="good">
          <p>{plural("sale.many", vouchers.length)}</p>
          <p>
            <SheetLink vouchers={vouchers} />
          </p>
        </Notice>
        <ul class="codes">
          {vouchers.map(({ id, code }) => (
            <li key={id}>
              <a class="code" href={formatRoute(["vouchers", id])}>
                {code}
              </a>
            </li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <div class="sold">
      <Notice kind="good">
        <p>{t("sale.sold")}</p>
        <p class="voucher-code">
          <a href={formatRoute(["vouchers", first.id])}>{first.code}</a>
        </p>
      </Notice>
      {first.qr !== undefined && (
        <QrCode label={t("sale.qr", { code: first.code })} qr={first.qr} />
      )}
    </div>
  );
}
