// Page of a voucher: its limits, its users, its name, and its revocation.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { send } from "@/api/client";
import { useResource } from "@/api/poller";
import { plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import { formatRoute } from "@/core/route";
import { Card, Facts, Field, Notice, Title } from "@/parts/basic";
import { FailureNotice, Waiting } from "@/parts/failure";
import { QrCode } from "@/parts/qr";
import { BackIcon } from "@/shell/icons";
import { format } from "@/text";
import { StateTag } from "./state";
import { t } from "./text";
import type { PortalVoucher } from "./types";

export function VoucherView({ id }: { id: string }) {
  const path = `portal/vouchers/${encodeURIComponent(id)}`;
  const { data, failure, retry } = useResource<PortalVoucher>(path, {}, USUAL);
  const above = (
    <a class="back" href={formatRoute(["vouchers"])}>
      <BackIcon />
      {t("vouchers.back")}
    </a>
  );
  if (data === null) {
    return (
      <>
        <Title text={t("view.vouchers")} above={above} />
        {failure?.status === 404 ? (
          <p>{t("vouchers.gone")}</p>
        ) : (
          <Waiting failure={failure} retry={retry} />
        )}
      </>
    );
  }
  return (
    <>
      <Title text={data.code} above={above}>
        <p>
          <StateTag voucher={data} />
        </p>
      </Title>
      <div class="grid">
        <Card title={t("guests.voucher")} wide={6}>
          <DoubleUse voucher={data} />
          <WhatItIs voucher={data} />
          {data.qr !== undefined && (
            <QrCode label={t("sale.qr", { code: data.code })} qr={data.qr} />
          )}
        </Card>
        <div class="column span-6">
          <Card title={t("common.name")}>
            <Rename voucher={data} path={path} changed={retry} />
          </Card>
          {data.revoked === null && (
            <Card title={t("voucher.callback")}>
              <CallBack path={path} changed={retry} />
            </Card>
          )}
          {data.signed !== undefined && (
            <Card title={t("vouchers.signed")}>
              <p class="code">{plain(data.signed)}</p>
            </Card>
          )}
        </div>
      </div>
    </>
  );
}

function DoubleUse({ voucher }: { voucher: PortalVoucher }) {
  if (voucher.double_use === null) return null;
  const { how, nodes } = voucher.double_use;
  const values = { one: plain(nodes[0] ?? ""), other: plain(nodes[1] ?? "") };
  return (
    <Notice kind="warn">
      {t(how === "again" ? "vouchers.again" : "vouchers.together", values)}
    </Notice>
  );
}

function WhatItIs({ voucher }: { voucher: PortalVoucher }) {
  const f = format();
  const moment = (seconds: number | null) => (seconds === null ? "–" : f.moment(seconds));
  const time = (seconds: number | null) =>
    seconds === null ? t("guests.forever") : f.span(seconds);
  const { users, devices, bytes, bytes_remaining, state } = voucher;
  return (
    <Facts
      facts={[
        [
          t("vouchers.time"),
          voucher.online
            ? t("vouchers.online", { time: time(voucher.duration) })
            : time(voucher.duration),
        ],
        [t("guests.left"), state === "active" ? time(voucher.seconds_remaining) : "–"],
        [t("guests.bytes"), bytes === null ? "–" : f.bytes(bytes_remaining ?? bytes)],
        [t("vouchers.rate"), voucher.rate === null ? "–" : f.rate(voucher.rate)],
        [t("vouchers.devices"), t("vouchers.of", { used: users.length, all: devices })],
        ...users.map(
          (mac) =>
            [
              mac,
              <a class="code" href={formatRoute(["devices", mac])}>
                {mac}
              </a>,
            ] as const,
        ),
        ...(voucher.former === undefined
          ? []
          : [[t("vouchers.former"), <span class="code">{plain(voucher.former)}</span>] as const]),
        [t("vouchers.sold"), moment(voucher.created)],
        [t("vouchers.used"), moment(voucher.activated)],
        [t("vouchers.until"), moment(voucher.until)],
        ...(voucher.sold_by === null ? [] : [[t("vouchers.by"), plain(voucher.sold_by)] as const]),
      ]}
    />
  );
}

function Rename(props: { voucher: PortalVoucher; path: string; changed: () => void }) {
  const { voucher, path, changed } = props;
  const [name, setName] = useState(voucher.name);
  const saving = useAction<PortalVoucher>();
  // Another user may have changed the name.
  useEffect(() => setName(voucher.name), [voucher.name]);
  const submit = async (event: Event) => {
    event.preventDefault();
    if ((await saving.run(() => send(`${path}/rename`, { name: name.trim() }))) !== null) changed();
  };
  return (
    <form class="form" onSubmit={submit}>
      <Field id="voucher-name" label={t("sale.name")} value={name} set={setName} />
      <div aria-live="polite">
        {saving.done !== null && <Notice kind="good">{t("voucher.renamed")}</Notice>}
        {saving.failure !== null && <FailureNotice failure={saving.failure} />}
      </div>
      <button type="submit" class="button" aria-disabled={saving.busy}>
        {t("voucher.rename")}
      </button>
    </form>
  );
}

function CallBack({ path, changed }: { path: string; changed: () => void }) {
  const [sure, setSure] = useState(false);
  const calling = useAction<PortalVoucher>();
  const go = async () => {
    if ((await calling.run(() => send(`${path}/revoke`, {}))) !== null) changed();
  };
  return (
    <>
      {calling.failure !== null && <FailureNotice failure={calling.failure} />}
      {sure ? (
        <div role="group" aria-label={t("voucher.callback.sure")}>
          <p>{t("voucher.callback.sure")}</p>
          <p class="buttons foot">
            <button type="button" class="button primary" aria-disabled={calling.busy} onClick={go}>
              {t("voucher.callback.yes")}
            </button>
            <button type="button" class="button" onClick={() => setSure(false)}>
              {t("voucher.callback.no")}
            </button>
          </p>
        </div>
      ) : (
        <button type="button" class="button" onClick={() => setSure(true)}>
          {t("voucher.callback")}
        </button>
      )}
    </>
  );
}
