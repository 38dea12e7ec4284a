// Table of conversations, for the view of all and for the page of a device.

import { plain } from "@/core/plain";
import { formatRoute } from "@/core/route";
import { Name } from "@/parts/basic";
import { type Column, Table } from "@/parts/table";
import { format } from "@/text";
import { isFinishedQuery } from "./core/queries";
import { latencySum, latencyText, RateFigure, Rates } from "./figures";
import { plural, t, word } from "./text";
import type { Talk } from "./types";

/** Address and port in the usual notation. */
export function endpoint(address: string, port: number): string {
  if (port === 0) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** The remote end: its name, or else its address. */
export function farOf(talk: Talk): string {
  const name = talk.far_name === undefined ? "" : plain(talk.far_name).trim();
  return name || talk.far;
}

/** Name of the station, or else its address. */
export function stationOf(talk: Talk): string {
  const name = talk.device === undefined ? "" : plain(talk.device).trim();
  return name || talk.station;
}

/** Addresses that no station has: none reported, or none there, as behind a tunnel. */
const NO_MAC = ["", "00:00:00:00:00:00"];

/** The station, with a link to its page if it has one. */
export function Station({ talk }: { talk: Talk }) {
  const name = <Name text={stationOf(talk)} />;
  return NO_MAC.includes(talk.mac) ? name : <a href={formatRoute(["devices", talk.mac])}>{name}</a>;
}

export function protocolOf(talk: Talk): string {
  if (talk.protocol !== undefined) return talk.protocol.toUpperCase();
  return (
    { 1: "ICMP", 2: "IGMP", 47: "GRE", 50: "ESP", 58: "ICMPv6", 132: "SCTP" }[
      talk.protocol_number
    ] ?? `IP ${talk.protocol_number}`
  );
}

export function applicationOf(talk: Talk): string {
  return talk.application === undefined ? "–" : plain(word("app", talk.application));
}

export function hookText(hook: string | undefined): string {
  return hook === undefined ? t("talks.hook.kernel") : word("talks.hook", hook);
}

function columns(now: number, withDevice: boolean): Column<Talk>[] {
  const f = format();
  const all: (Column<Talk> | null)[] = [
    {
      id: "far",
      title: t("talks.far"),
      text: true,
      by: farOf,
      cell: (talk) => (
        <a href={formatRoute(["talks", String(talk.id)])}>
          <Name text={farOf(talk)} />
        </a>
      ),
    },
    withDevice
      ? {
          id: "device",
          title: t("talks.device"),
          text: true,
          by: stationOf,
          cell: (talk) => <Station talk={talk} />,
        }
      : null,
    { id: "app", title: t("talks.application"), level: 2, by: applicationOf, cell: applicationOf },
    {
      id: "protocol",
      title: t("talks.protocol"),
      level: 3,
      by: (talk) => `${protocolOf(talk)} ${talk.far_port}`,
      cell: (talk) => (
        <span class="code">
          {protocolOf(talk)}
          {talk.far_port !== 0 && ` ${talk.far_port}`}
        </span>
      ),
    },
    {
      id: "rate",
      title: t("picture.rate"),
      numeric: true,
      level: "narrow",
      by: (talk) => talk.rate.received + talk.rate.sent,
      cell: (talk) => <Rates down={talk.rate.received} up={talk.rate.sent} />,
    },
    {
      id: "down",
      title: t("common.download"),
      numeric: true,
      level: 2,
      by: (talk) => talk.rate.received,
      cell: (talk) => <RateFigure bits={talk.rate.received} kind="down" />,
    },
    {
      id: "up",
      title: t("common.upload"),
      numeric: true,
      level: 2,
      by: (talk) => talk.rate.sent,
      cell: (talk) => <RateFigure bits={talk.rate.sent} kind="up" />,
    },
    {
      id: "bytes",
      title: t("common.bytes"),
      numeric: true,
      level: 2,
      by: (talk) => talk.received.bytes + talk.sent.bytes,
      cell: (talk) => f.bytes(talk.received.bytes + talk.sent.bytes),
    },
    {
      id: "latency",
      title: t("devices.latency"),
      numeric: true,
      level: 4,
      by: (talk) => latencySum(talk.latency),
      cell: (talk) => latencyText(talk.latency),
    },
    {
      id: "path",
      title: t("talks.path"),
      level: 4,
      by: (talk) => talk.hook ?? "",
      cell: (talk) => (
        <span class={`tag ${talk.hook === undefined ? "" : "own"}`}>{hookText(talk.hook)}</span>
      ),
    },
    {
      id: "seen",
      title: t("talks.seen"),
      numeric: true,
      level: 4,
      by: (talk) => talk.last_seen,
      cell: (talk) => f.ago(now - talk.last_seen),
    },
  ];
  return all.filter((column) => column !== null);
}

const queries = (count: number) => plural("talks.dns", count);

/** `now` is the router's clock, seconds since 1970. */
export function TalkTable({
  talks,
  now,
  withDevice,
  folds = true,
}: {
  talks: Talk[];
  now: number;
  withDevice: boolean;
  /** True to fold finished queries away. */
  folds?: boolean;
}) {
  return (
    <Table
      id="talk-"
      caption={t("talks.caption")}
      columns={columns(now, withDevice)}
      rows={talks}
      rowKey={(talk) => `${talk.port} ${talk.id}`}
      first="rate"
      none={t("talks.none")}
      {...(folds && { fold: { has: isFinishedQuery, title: queries } })}
    />
  );
}
