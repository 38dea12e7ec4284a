// Every device, with links to details.
import { live } from "@/api/live";
import type { Device } from "@/api/types";
import { matches } from "@/core/order";
import { nameOf, plain } from "@/core/plain";
import { formatRoute, type Route } from "@/core/route";
import { useStore } from "@/core/store";
import { Name, Search, Title } from "@/parts/basic";
import { Waiting } from "@/parts/failure";
import { type Column, Table } from "@/parts/table";
import { setQuery } from "@/shell/router";
import { format } from "@/text";
import { DeviceView } from "./device";
import { latencySum, latencyText, RateFigure, Rates, Signal } from "./figures";
import { Kind } from "./kinds";
import { t } from "./text";

export function DevicesView({ route }: { route: Route }) {
  const mac = route.path[1];
  return mac === undefined ? (
    <Devices find={route.query.find ?? ""} />
  ) : (
    <DeviceView key={mac} mac={mac} />
  );
}

/** Sum of a device's Internet traffic. */
const totalOf = (device: Device): number => device.received.bytes + device.sent.bytes;

const lanOf = ({ lan }: Device): number => lan.received.bytes + lan.sent.bytes;

function columns(now: number): Column<Device>[] {
  const f = format();
  return [
    {
      id: "name",
      title: t("common.name"),
      text: true,
      by: nameOf,
      cell: (device) => (
        <a href={formatRoute(["devices", device.mac])}>
          <Kind of={device.icon} />
          <Name text={nameOf(device)} />
        </a>
      ),
    },
    {
      id: "address",
      title: t("common.address"),
      level: 2,
      by: (device) => device.addresses[0],
      cell: (device) => (
        <span class="code">
          {device.addresses[0] ?? "–"}
          {device.addresses.length > 1 && (
            <span class="muted"> +{device.addresses.length - 1}</span>
          )}
        </span>
      ),
    },
    {
      id: "mac",
      title: "MAC",
      level: 4,
      by: (device) => device.mac,
      cell: (device) => <span class="code">{device.mac}</span>,
    },
    {
      id: "owner",
      title: t("devices.owner"),
      text: true,
      level: 4,
      by: (device) => device.owner,
      cell: (device) => (device.owner === undefined ? "–" : <Name text={device.owner} />),
    },
    {
      id: "vendor",
      title: t("devices.vendor"),
      text: true,
      level: 4,
      by: (device) => device.vendor,
      cell: (device) => (device.vendor === undefined ? "–" : <Name text={device.vendor} />),
    },
    {
      id: "port",
      title: t("common.port"),
      level: 3,
      by: (device) => `${device.port} ${device.vlan ?? ""}`,
      cell: (device) => (
        <span class="code">
          {plain(device.port)}
          {device.vlan !== undefined && <span class="muted"> · {device.vlan}</span>}
        </span>
      ),
    },
    {
      id: "rate",
      title: t("picture.rate"),
      numeric: true,
      level: "narrow",
      by: (device) => device.rate.received + device.rate.sent,
      cell: (device) => <Rates down={device.rate.received} up={device.rate.sent} />,
    },
    {
      id: "down",
      title: t("common.download"),
      numeric: true,
      level: 2,
      by: (device) => device.rate.received,
      cell: (device) => <RateFigure bits={device.rate.received} kind="down" />,
    },
    {
      id: "up",
      title: t("common.upload"),
      numeric: true,
      level: 2,
      by: (device) => device.rate.sent,
      cell: (device) => <RateFigure bits={device.rate.sent} kind="up" />,
    },
    {
      id: "total",
      title: t("common.total"),
      numeric: true,
      by: totalOf,
      cell: (device) => f.bytes(totalOf(device)),
    },
    {
      id: "lan",
      title: t("devices.lan"),
      numeric: true,
      level: 3,
      by: lanOf,
      cell: (device) => f.bytes(lanOf(device)),
    },
    {
      id: "conversations",
      title: t("devices.conversations"),
      numeric: true,
      level: 3,
      by: (device) => device.conversations,
      cell: (device) => f.count(device.conversations),
    },
    {
      id: "latency",
      title: t("devices.latency"),
      numeric: true,
      level: 3,
      by: (device) => latencySum(device.latency),
      cell: (device) => latencyText(device.latency),
    },
    {
      id: "wifi",
      title: t("devices.wifi"),
      level: 3,
      by: (device) => device.wifi?.signal,
      cell: (device) => <Signal wifi={device.wifi} />,
    },
    {
      id: "seen",
      title: t("devices.seen"),
      numeric: true,
      level: 4,
      by: (device) => device.last_seen,
      cell: (device) => f.ago(now - device.last_seen),
    },
  ];
}

function Devices({ find }: { find: string }) {
  const { devices, failure } = useStore(live);
  if (devices === null) {
    return (
      <>
        <Title text={t("view.devices")} />
        <Waiting failure={failure} />
      </>
    );
  }
  // The gateway's traffic is the sum of all stations': the uplink shows it, not the list of
  // devices.
  const stations = devices.devices.filter((device) => !device.uplink);
  const fitting = stations.filter((device) =>
    matches(find, [
      device.name,
      device.owner,
      device.vendor,
      device.mac,
      device.port,
      ...device.addresses,
      device.vlan?.toString(),
    ]),
  );
  return (
    <>
      <Title text={t("view.devices")}>
        <p class="muted">{t("devices.since", { since: format().moment(devices.since) })}</p>
      </Title>
      <div class="controls">
        <Search
          id="find"
          label={t("devices.filter")}
          value={find}
          set={(text) => setQuery({ find: text })}
        />
        <p class="muted" aria-live={find === "" ? "off" : "polite"}>
          {t("common.shown", {
            shown: format().count(fitting.length),
            total: format().count(stations.length),
          })}
        </p>
      </div>
      <div class="card">
        <Table
          id=""
          caption={t("devices.caption")}
          columns={columns(devices.now)}
          rows={fitting}
          rowKey={(device) => device.mac}
          first="rate"
          none={stations.length === 0 ? t("devices.empty") : t("devices.none")}
        />
      </div>
    </>
  );
}
