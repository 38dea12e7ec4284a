// Devices behind the portal now, and a voucher for the next guest.

import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { send } from "@/api/client";
import { live } from "@/api/live";
import { useResource } from "@/api/poller";
import { nameOf, plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import { formatRoute } from "@/core/route";
import { useStore } from "@/core/store";
import { Card, Name, Notice, Title } from "@/parts/basic";
import { FailureNotice, Waiting } from "@/parts/failure";
import { type Column, Table } from "@/parts/table";
import { format } from "@/text";
import { Sell } from "./sell";
import { plural, t, word } from "./text";
import type { PortalClient, PortalClients, PortalHours } from "./types";

const TONES: Record<PortalClient["state"], string> = {
  waiting: "",
  admitted: "good",
  free: "good",
  exempt: "own",
};

export function GuestsView() {
  const { status } = useStore(live);
  const { data, failure, retry } = useResource<PortalClients>("portal/clients", {}, USUAL);
  const ending = useAction<PortalClients>();
  const [asked, ask] = useState<string | null>(null);
  const end = async (mac: string) => {
    ask(null);
    if (await ending.run(() => send(`portal/clients/${mac}/end`, {}))) retry();
  };
  if (status !== null && !status.modules.includes("portal")) {
    return (
      <>
        <Title text={t("view.guests")} />
        <p>{t("portal.none")}</p>
      </>
    );
  }
  const clients = data?.clients ?? [];
  const waiting = clients.filter(({ state }) => state === "waiting").length;
  return (
    <>
      <Title text={t("view.guests")}>
        {data !== null && (
          <p class="muted">
            {plural("guests.inside", clients.length - waiting)} ·{" "}
            {plural("guests.waiting", waiting)}
          </p>
        )}
      </Title>
      {data !== null && <Hours hours={data.hours} />}
      <div class="grid">
        <Card title={t("sale.title")} wide={4}>
          <Sell />
        </Card>
        <Card title={t("guests.devices")} wide={8}>
          {ending.failure !== null && <FailureNotice failure={ending.failure} />}
          {asked !== null && (
            <Sure
              key={asked}
              device={plain(named(asked))}
              end={() => end(asked)}
              keep={() => ask(null)}
            />
          )}
          {data === null ? (
            <Waiting failure={failure} retry={retry} />
          ) : (
            <Table
              id=""
              caption={t("guests.caption")}
              columns={columns(ask)}
              rows={clients}
              rowKey={(client) => client.mac}
              first="state"
              none={t("guests.empty")}
            />
          )}
        </Card>
      </div>
    </>
  );
}

/** Notice of special hours. */
function Hours({ hours }: { hours: PortalHours }) {
  if (hours.mode === "vouchers") return null;
  return (
    <div class="hours">
      <Notice kind="info">
        {t(`guests.hours.${hours.mode}`)}
        {hours.seconds !== null && (
          <> {t("guests.hours.until", { time: format().span(hours.seconds) })}</>
        )}
      </Notice>
    </div>
  );
}

/** The monitor's name of a device; else its hardware address. */
function named(mac: string): string {
  const known = live.get().devices?.devices.find((device) => device.mac === mac);
  return known === undefined ? mac : nameOf(known);
}

const isInside = ({ state }: PortalClient) => state === "admitted" || state === "free";

function columns(end: (mac: string) => void): Column<PortalClient>[] {
  const f = format();
  return [
    {
      id: "device",
      title: t("common.name"),
      text: true,
      by: ({ mac }) => named(mac),
      cell: ({ mac }) => (
        <a href={formatRoute(["devices", mac])}>
          <Name text={named(mac)} />
        </a>
      ),
    },
    {
      id: "state",
      title: t("guests.state"),
      level: 2,
      by: ({ state }) => state,
      cell: ({ state, other_browser }) => (
        <>
          <span class={`tag ${TONES[state]}`}>{word("guest.state", state)}</span>
          {other_browser !== null && (
            <>
              {" "}
              <span class="tag bad">{t("guests.other")}</span>
            </>
          )}
        </>
      ),
    },
    {
      id: "left",
      title: t("guests.left"),
      numeric: true,
      by: (client) => client.seconds_remaining,
      cell: (client) => {
        if (client.seconds_remaining !== null) return f.span(client.seconds_remaining);
        return isInside(client) ? t("guests.forever") : word("guest.state", client.state);
      },
    },
    {
      id: "bytes",
      title: t("guests.bytes"),
      numeric: true,
      level: 3,
      by: (client) => client.bytes_remaining,
      cell: (client) => (client.bytes_remaining === null ? "–" : f.bytes(client.bytes_remaining)),
    },
    {
      id: "address",
      title: t("common.address"),
      level: 3,
      by: ({ addresses }) => addresses[0],
      cell: ({ addresses }) => (
        <span class="code">
          {plain(addresses[0] ?? "–")}
          {addresses.length > 1 && <span class="muted"> +{addresses.length - 1}</span>}
        </span>
      ),
    },
    {
      id: "voucher",
      title: t("guests.by"),
      level: 2,
      by: ({ voucher, account }) => account ?? voucher,
      cell: ({ voucher, account, next }) =>
        voucher === null ? (
          account === null ? (
            "–"
          ) : (
            <Name text={account} />
          )
        ) : (
          <>
            <a class="code" href={formatRoute(["vouchers", voucher])}>
              {voucher.slice(0, 6)}…
            </a>
            {next.length > 0 && <> {t("guests.more", { count: next.length })}</>}
          </>
        ),
    },
    {
      id: "end",
      title: t("guests.end"),
      cell: (client) =>
        isInside(client) && (
          <button
            type="button"
            class="button"
            aria-label={t("guests.end.which", { device: plain(named(client.mac)) })}
            onClick={() => end(client.mac)}
          >
            {t("guests.end")}
          </button>
        ),
    },
  ];
}

/** Confirmation before an access ends. */
function Sure({ device, end, keep }: { device: string; end: () => void; keep: () => void }) {
  const question = t("guests.end.sure", { device });
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <div role="group" aria-label={question} class="sure">
      <Notice kind="warn">{question}</Notice>
      <p class="buttons foot">
        <button type="button" class="button primary" onClick={end}>
          {t("guests.end")}
        </button>{" "}
        <button type="button" class="button" ref={first} onClick={keep}>
          {t("guests.end.keep")}
        </button>
      </p>
    </div>
  );
}
