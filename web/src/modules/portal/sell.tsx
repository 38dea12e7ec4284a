// A voucher sold in two taps: how long, and "sell". The rest has defaults.
import { useState } from "preact/hooks";
import { get, send } from "../../api/client";
import { formatRoute } from "../../core/route";
import { Notice, Segments } from "../../parts/basic";
import { FailureNotice } from "../../parts/failure";
import { format } from "../../text";
import { useAction } from "./action";
import { asked, BOUNDS, type Numbers, type Sale, TIMES, USUAL_SALE, wrong } from "./core/sale";
import { QrCode } from "./qr";
import { t } from "./text";
import type { PortalVoucher, PortalVouchers } from "./types";

export function Sell() {
  const [sale, setSale] = useState<Sale>(USUAL_SALE);
  const [unfit, setUnfit] = useState<Numbers | null>(null);
  const selling = useAction<PortalVoucher>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const field = wrong(sale);
    setUnfit(field);
    if (field !== null) return;
    await selling.run(async () => {
      const made = await send<PortalVouchers>("portal/vouchers", asked(sale));
      const first = made.vouchers[0];
      return get<PortalVoucher>(`portal/vouchers/${first?.id ?? ""}`);
    });
  };
  const change = (part: Partial<Sale>) => setSale({ ...sale, ...part });
  const number = (field: Numbers) => {
    const [least, most] = BOUNDS[field];
    const isWrong = unfit === field;
    return (
      <div class="field">
        <label for={`sale-${field}`}>{t(`sale.${field}`)}</label>
        <input
          id={`sale-${field}`}
          inputMode="numeric"
          autocomplete="off"
          value={sale[field]}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? `sale-${field}-wrong` : undefined}
          onInput={(event) => change({ [field]: event.currentTarget.value })}
        />
        {isWrong && (
          <p class="hint" id={`sale-${field}-wrong`} role="alert">
            {t("sale.wrong", { least: format().count(least), most: format().count(most) })}
          </p>
        )}
      </div>
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
            <div class="field">
              <label for="sale-name">{t("sale.name")}</label>
              <input
                id="sale-name"
                autocomplete="off"
                maxLength={200}
                value={sale.name}
                onInput={(event) => change({ name: event.currentTarget.value })}
              />
            </div>
            {number("devices")}
            {number("megabytes")}
          </div>
        </details>
        <button type="submit" class="button primary" aria-disabled={selling.busy}>
          {t("sale.sell")}
        </button>
      </form>
      {selling.failure !== null && <FailureNotice failure={selling.failure} />}
      <div aria-live="polite">{selling.done !== null && <Sold voucher={selling.done} />}</div>
    </>
  );
}

function Sold({ voucher }: { voucher: PortalVoucher }) {
  return (
    <div class="sold">
      <Notice kind="good">
        <p>{t("sale.sold")}</p>
        <p class="voucher-code">
          <a href={formatRoute(["vouchers", voucher.id])}>{voucher.code}</a>
        </p>
      </Notice>
      <QrCode voucher={voucher} />
    </div>
  );
}
