// Table of conversations, for the view of all and for the page of a device.

import { plain } from "@/core/plain";
import { formatRoute } from "@/core/route";
import { Name } from "@/parts/basic";
import { type Column, Table } from "@/parts/table";
import { format } from "@/text";
import { isFinishedQuery } from "./core/queries";
import { latencySum, latencyText, RateFigure, Rates } from "./figures";
import { plural, t, word } from "./text";
import type { Conversation } from "./types";

/** Address and port in the usual notation. */
export function endpoint(address: string, port: number): string {
  if (port === 0) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** The remote end: its name, or else its address. */
export function remoteOf(conversation: Conversation): string {
  const name = conversation.remote_name === undefined ? "" : plain(conversation.remote_name).trim();
  return name || conversation.remote;
}

/** Name of the station, or else its address. */
export function stationOf(conversation: Conversation): string {
  const name = conversation.device === undefined ? "" : plain(conversation.device).trim();
  return name || conversation.station;
}

/** Addresses that no station has: not reported, or missing, as behind a tunnel. */
const NO_MAC = ["", "00:00:00:00:00:00"];

/** The station, with a link to its page if it has one. */
export function Station({ conversation }: { conversation: Conversation }) {
  const name = <Name text={stationOf(conversation)} />;
  return NO_MAC.includes(conversation.mac) ? (
    name
  ) : (
    <a href={formatRoute(["devices", conversation.mac])}>{name}</a>
  );
}

export function protocolOf(conversation: Conversation): string {
  if (conversation.protocol !== undefined) return conversation.protocol.toUpperCase();
  return (
    { 1: "ICMP", 2: "IGMP", 47: "GRE", 50: "ESP", 58: "ICMPv6", 132: "SCTP" }[
      conversation.protocol_number
    ] ?? `IP ${conversation.protocol_number}`
  );
}

export function applicationOf(conversation: Conversation): string {
  return conversation.application === undefined
    ? "–"
    : plain(word("app", conversation.application));
}

export function hookText(hook: string | undefined): string {
  return hook === undefined ? t("conversations.hook.kernel") : word("conversations.hook", hook);
}

function columns(now: number, withDevice: boolean): Column<Conversation>[] {
  const f = format();
  const all: (Column<Conversation> | null)[] = [
    {
      id: "remote",
      title: t("conversations.remote"),
      text: true,
      by: remoteOf,
      cell: (conversation) => (
        <a href={formatRoute(["conversations", String(conversation.id)])}>
          <Name text={remoteOf(conversation)} />
        </a>
      ),
    },
    withDevice
      ? {
          id: "device",
          title: t("conversations.device"),
          text: true,
          by: stationOf,
          cell: (conversation) => <Station conversation={conversation} />,
        }
      : null,
    {
      id: "app",
      title: t("conversations.application"),
      level: 2,
      by: applicationOf,
      cell: applicationOf,
    },
    {
      id: "protocol",
      title: t("conversations.protocol"),
      level: 3,
      by: (conversation) => `${protocolOf(conversation)} ${conversation.remote_port}`,
      cell: (conversation) => (
        <span class="code">
          {protocolOf(conversation)}
          {conversation.remote_port !== 0 && ` ${conversation.remote_port}`}
        </span>
      ),
    },
    {
      id: "rate",
      title: t("picture.rate"),
      numeric: true,
      level: "narrow",
      by: (conversation) => conversation.rate.received + conversation.rate.sent,
      cell: (conversation) => (
        <Rates down={conversation.rate.received} up={conversation.rate.sent} />
      ),
    },
    {
      id: "down",
      title: t("common.download"),
      numeric: true,
      level: 2,
      by: (conversation) => conversation.rate.received,
      cell: (conversation) => <RateFigure bits={conversation.rate.received} kind="down" />,
    },
    {
      id: "up",
      title: t("common.upload"),
      numeric: true,
      level: 2,
      by: (conversation) => conversation.rate.sent,
      cell: (conversation) => <RateFigure bits={conversation.rate.sent} kind="up" />,
    },
    {
      id: "bytes",
      title: t("common.bytes"),
      numeric: true,
      level: 2,
      by: (conversation) => conversation.received.bytes + conversation.sent.bytes,
      cell: (conversation) => f.bytes(conversation.received.bytes + conversation.sent.bytes),
    },
    {
      id: "latency",
      title: t("devices.latency"),
      numeric: true,
      level: 4,
      by: (conversation) => latencySum(conversation.latency),
      cell: (conversation) => latencyText(conversation.latency),
    },
    {
      id: "path",
      title: t("conversations.path"),
      level: 4,
      by: (conversation) => conversation.hook ?? "",
      cell: (conversation) => (
        <span class={`tag ${conversation.hook === undefined ? "" : "own"}`}>
          {hookText(conversation.hook)}
        </span>
      ),
    },
    {
      id: "seen",
      title: t("conversations.seen"),
      numeric: true,
      level: 4,
      by: (conversation) => conversation.last_seen,
      cell: (conversation) => f.ago(now - conversation.last_seen),
    },
  ];
  return all.filter((column) => column !== null);
}

const queries = (count: number) => plural("conversations.dns", count);

/** `now` is the router's clock, seconds since 1970. */
export function ConversationTable({
  conversations,
  now,
  withDevice,
  folds = true,
}: {
  conversations: Conversation[];
  now: number;
  withDevice: boolean;
  /** True to fold finished queries away. */
  folds?: boolean;
}) {
  return (
    <Table
      id="conversation-"
      caption={t("conversations.caption")}
      columns={columns(now, withDevice)}
      rows={conversations}
      rowKey={(conversation) => `${conversation.port} ${conversation.id}`}
      first="rate"
      none={t("conversations.none")}
      {...(folds && { fold: { has: isFinishedQuery, title: queries } })}
    />
  );
}
