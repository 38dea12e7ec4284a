// Page of a device: its rates, its conversations, its history, and the quality of its link.
import { live, recorded } from "@/api/live";
import { useResource } from "@/api/poller";
import type { Device } from "@/api/types";
import { nameOf, plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import { formatRoute } from "@/core/route";
import { useStore } from "@/core/store";
import { Card, Facts, Meter, Name, Title } from "@/parts/basic";
import { Chart, Now } from "@/parts/chart";
import { Waiting } from "@/parts/failure";
import { format } from "@/text";
import { ConversationTable } from "./conversation-table";
import { fromInside } from "./core/inside";
import { Signal, Verdict } from "./figures";
import { HistoryBoard } from "./history";
import { Kind } from "./kinds";
import { LabelCard } from "./label";
import { t, word } from "./text";
import type { Conversations } from "./types";

export function DeviceView({ mac }: { mac: string }) {
  const { devices, failure } = useStore(live);
  const above = <a href={formatRoute(["devices"])}>{t("view.devices")}</a>;
  if (devices === null) {
    return (
      <>
        <Title text={t("view.devices")} above={above} />
        <Waiting failure={failure} />
      </>
    );
  }
  const device = devices.devices.find((candidate) => candidate.mac === mac);
  if (device === undefined) {
    return (
      <>
        <Title text={t("device.unknown")} above={above} />
        <p>{t("device.unknown.text", { mac: plain(mac) })}</p>
      </>
    );
  }
  const series = recorded.get(`device ${mac}`);
  return (
    <>
      <Title text={nameOf(device)} above={above}>
        {device.owner !== undefined && (
          <p class="tag">
            <Kind of={device.icon} />
            <Name text={device.owner} />
          </p>
        )}
        {device.uplink && <p class="tag">{t("devices.gateway")}</p>}
        <p class="code muted">{[...device.addresses.slice(0, 2), device.mac].join(" · ")}</p>
      </Title>
      <div class="grid">
        <Card title={t("device.rates")} wide={8}>
          <Now down={device.rate.received} up={device.rate.sent} series={series} />
          <Chart name={nameOf(device)} series={series} height={180} />
        </Card>
        <div class="column span-4">
          {device.quota !== undefined && <Quota quota={device.quota} />}
          <Card title={t("device.latency")}>
            <LatencyFacts device={device} />
          </Card>
        </div>
        <Card title={t("device.conversations")}>
          <DeviceConversations mac={mac} now={devices.now} />
        </Card>
        <Card title={t("device.history")}>
          <HistoryBoard
            id="device-history"
            device={mac}
            unit="day"
            by="application"
            page={0}
            heading="h3"
          />
          <p class="foot">
            <a href={formatRoute(["history"], { device: mac, by: "application" })}>
              {t("view.history")}
            </a>
          </p>
        </Card>
        <LabelCard device={device} />
        <Card title={t("device.facts")} wide={device.wifi === undefined ? 12 : 7}>
          <DeviceFacts device={device} now={devices.now} />
        </Card>
        {device.wifi !== undefined && (
          <Card title={t("device.wifi")} wide={5}>
            <WifiFacts wifi={device.wifi} />
          </Card>
        )}
      </div>
    </>
  );
}

function DeviceConversations({ mac, now }: { mac: string; now: number }) {
  const { data, failure, retry } = useResource<Conversations>(
    "conversations",
    { device: mac, sort: "rate", limit: "200" },
    USUAL,
  );
  if (data === null) return <Waiting failure={failure} retry={retry} />;
  if (data.conversations.length === 0) return <p class="nothing">{t("conversations.empty")}</p>;
  return (
    <ConversationTable
      conversations={data.conversations.map((conversation) =>
        fromInside(conversation, t("conversations.own")),
      )}
      now={now}
      withDevice={false}
    />
  );
}

function Quota({ quota }: { quota: NonNullable<Device["quota"]> }) {
  const f = format();
  const kind = { within: "good", warned: "fair", exceeded: "bad", cut: "bad" }[quota.state] ?? "";
  const share = quota.limit > 0 ? quota.used / quota.limit : 1;
  return (
    <Card
      title={t("device.quota")}
      action={<span class={`tag ${kind}`}>{word("quota.state", quota.state)}</span>}
    >
      <p class="large">{f.share(share)}</p>
      <Meter share={share} kind={kind} />
      <p class="small">
        {t("device.quota.used", { used: f.bytes(quota.used), limit: f.bytes(quota.limit) })}
      </p>
      <p class="small muted">
        {word("quota.period", quota.period)};{" "}
        {t("device.quota.resets", { resets: f.moment(quota.resets) })}
      </p>
    </Card>
  );
}

function LatencyFacts({ device }: { device: Device }) {
  const f = format();
  const latency = device.latency;
  if (latency === undefined) return <p class="nothing">{t("device.latency.none")}</p>;
  const figure = (value: number | undefined, least: number | undefined) => (
    <>
      {value === undefined ? "–" : f.milliseconds(value)}
      {least !== undefined && (
        <span class="small muted">
          {" "}
          {t("device.latency.least", { value: f.milliseconds(least) })}
        </span>
      )}
    </>
  );
  return (
    <Facts
      facts={[
        [t("device.latency.lan"), figure(latency.lan, latency.lan_min)],
        [t("device.latency.wan"), figure(latency.wan, latency.wan_min)],
        [
          t("device.bufferbloat"),
          <Verdict told={latency.bufferbloat} growth={latency.growth} key="verdict" />,
        ],
        [t("device.retransmissions"), f.count(latency.retransmissions)],
      ]}
    />
  );
}

function DeviceFacts({ device, now }: { device: Device; now: number }) {
  const f = format();
  const inside = device.lan.received.bytes + device.lan.sent.bytes;
  const total = device.received.bytes + device.sent.bytes + inside;
  const facts: [string, string][] = [
    [t("device.addresses"), device.addresses.join(", ") || t("common.none")],
    [t("common.mac"), device.mac],
    [t("common.port"), plain(device.port)],
    [t("common.received"), f.bytes(device.received.bytes)],
    [t("common.sent"), f.bytes(device.sent.bytes)],
    [t("devices.lan"), f.bytes(inside)],
    [
      t("device.forwarded"),
      total > 0
        ? `${f.bytes(device.forwarded.bytes)} (${f.share(device.forwarded.bytes / total)})`
        : "–",
    ],
    [t("device.first"), f.moment(device.first_seen)],
    [t("device.seen"), f.ago(now - device.last_seen)],
  ];
  if (device.vlan !== undefined) facts.splice(3, 0, [t("device.vlan"), String(device.vlan)]);
  if (device.local_mac) facts.splice(2, 0, [t("devices.vendor"), t("device.vendor.local_mac")]);
  else if (device.vendor !== undefined)
    facts.splice(2, 0, [t("devices.vendor"), plain(device.vendor)]);
  if (device.name_source !== undefined)
    facts.push([t("device.name_source"), word("name_source", plain(device.name_source))]);
  return <Facts facts={facts} />;
}

function WifiFacts({ wifi }: { wifi: NonNullable<Device["wifi"]> }) {
  const f = format();
  const or = (value: number | undefined, write: (value: number) => string) =>
    value === undefined ? "–" : write(value);
  return (
    <Facts
      facts={[
        [t("device.wifi.signal"), <Signal wifi={wifi} key="signal" />],
        [t("device.wifi.to"), or(wifi.rate_to, (rate) => f.rate(rate))],
        [t("device.wifi.from"), or(wifi.rate_from, (rate) => f.rate(rate))],
        [t("device.wifi.retries"), or(wifi.retries, (many) => f.count(many))],
        [t("device.wifi.failed"), or(wifi.failed, (many) => f.count(many))],
        [t("device.wifi.airtime"), or(wifi.airtime, (time) => f.span(time / 1e6))],
      ]}
    />
  );
}
