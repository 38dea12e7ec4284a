// Access points that are, or may become, peers.
import { plain } from "@/core/plain";
import { Card, Notice } from "@/parts/basic";
import { type Column, Table } from "@/parts/table";
import { Told } from "@/parts/told";
import { format } from "@/text";
import { isOpen, order, waiting } from "./core/peers";
import { dbm, NONE, rate } from "./figures";
import { OpenLockIcon, ShutLockIcon } from "./icons";
import { plural, t, word } from "./text";
import type { RadioPeer, RadioPeers } from "./types";

export function PeersCard({ told }: { told: RadioPeers }) {
  const title = t("radio.peers", { device: plain(told.device) });
  const open = told.peers.filter((peer) => isOpen(peer) === true).length;
  return (
    <Card title={title} class="radio-peers">
      {open > 0 && <Notice kind="bad">{plural("radio.peers.open", open)}</Notice>}
      {told.notices.map((notice) => (
        <Notice key={notice} kind="warn">
          <Told text={notice} />
        </Notice>
      ))}
      <Table
        id="peers-"
        caption={title}
        columns={columns()}
        rows={told.peers}
        rowKey={({ address }) => address}
        first="state"
        none={t("radio.peers.none")}
      />
    </Card>
  );
}

/** A word and an icon, in addition to the colour. */
function Encryption({ peer }: { peer: RadioPeer }) {
  switch (isOpen(peer)) {
    case null:
      return <span class="muted">{t("radio.key.none")}</span>;
    case true:
      return (
        <span class="tag bad radio-key">
          <OpenLockIcon />
          {t("radio.key.open")}
        </span>
      );
    case false:
      return (
        <span class="tag good radio-key">
          <ShutLockIcon />
          {t("radio.key.shut")}
        </span>
      );
  }
}

function columns(): Column<RadioPeer>[] {
  return [
    {
      id: "address",
      title: t("common.address"),
      by: ({ address }) => address,
      cell: ({ address }) => <span class="code">{plain(address)}</span>,
    },
    {
      id: "key",
      title: t("radio.key"),
      cell: (peer) => <Encryption peer={peer} />,
    },
    {
      id: "state",
      title: t("radio.state"),
      by: order,
      cell: (peer) => {
        const why = waiting(peer);
        return why === null ? word("state", plain(peer.state)) : t(`waits.${why}`);
      },
    },
    {
      id: "device",
      title: t("radio.device"),
      level: 3,
      cell: (peer) => <span class="code">{plain(peer.interface)}</span>,
    },
    {
      id: "since",
      title: t("radio.since"),
      numeric: true,
      level: 2,
      by: ({ peer_seconds }) => peer_seconds,
      cell: ({ peer_seconds }) => (peer_seconds === null ? NONE : format().span(peer_seconds)),
    },
    {
      id: "signal",
      title: t("radio.signal"),
      numeric: true,
      level: 2,
      by: ({ signal }) => signal,
      cell: ({ signal }) => dbm(signal),
    },
    {
      id: "expected",
      title: t("radio.through"),
      numeric: true,
      level: 2,
      by: ({ expected_mbit }) => expected_mbit,
      cell: ({ expected_mbit }) => rate(expected_mbit),
    },
  ];
}
