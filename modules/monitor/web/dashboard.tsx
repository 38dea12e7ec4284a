// The first view: load of the uplink, and the devices that cause it.
import { live, portRate, recorded } from "@/api/live";
import type { Device, Devices, MeteredPort, Status } from "@/api/types";
import { nameOf, plain } from "@/core/plain";
import { formatRoute } from "@/core/route";
import { useStore } from "@/core/store";
import { Card, Meter, Name, Title } from "@/parts/basic";
import { Chart, Now } from "@/parts/chart";
import { Waiting } from "@/parts/failure";
import { format } from "@/text";
import { NeedsAttention } from "./conditions";
import { needsAttention } from "./core/conditions";
import { plural, t } from "./text";

/** Devices shown as bars. */
const BUSIEST = 8;

export function Dashboard() {
  const { devices, failure } = useStore(live);
  return (
    <>
      <Title text={t("view.dashboard")}>{devices !== null && <Summary devices={devices} />}</Title>
      {devices === null ? (
        <>
          <Waiting failure={failure} />
          <NeedsAttention />
        </>
      ) : (
        <Boards devices={devices} />
      )}
    </>
  );
}

const stations = (devices: Devices): Device[] => devices.devices.filter((device) => !device.uplink);
const rateOf = (device: Device): number => device.rate.received + device.rate.sent;

function Summary({ devices }: { devices: Devices }) {
  const own = stations(devices);
  const active = own.filter((device) => rateOf(device) > 0).length;
  const conversations = own.reduce((sum, device) => sum + device.conversations, 0);
  return (
    <p class="muted">
      {plural("dashboard.devices", active)} · {plural("dashboard.conversations", conversations)}
    </p>
  );
}

function Boards({ devices }: { devices: Devices }) {
  const { conditions } = useStore(live);
  const uplinks = devices.ports.filter((port) => port.uplink);
  // Urgent conditions come first.
  const urgent = needsAttention(conditions?.conditions ?? []);
  return (
    <div class="grid">
      <div class="column span-8">
        {urgent && <NeedsAttention />}
        {uplinks.length === 0 ? (
          <Card title={t("dashboard.nouplink")}>
            <p>{t("dashboard.nouplink.text")}</p>
          </Card>
        ) : (
          uplinks.map((port) => <Uplink key={port.name} port={port} since={devices.since} />)
        )}
        {!urgent && <NeedsAttention />}
      </div>
      <div class="column span-4">
        <Users devices={devices} />
        <Engine />
      </div>
    </div>
  );
}

function Uplink({ port, since }: { port: MeteredPort; since: number }) {
  const f = format();
  const { down, up } = portRate(port);
  const series = recorded.get(`port ${port.name}`);
  const name = t("dashboard.uplink", { name: plain(port.name) });
  const bytes = (way: MeteredPort["incoming"]) => way.conversations.bytes + way.unplaced.bytes;
  return (
    <Card title={name}>
      <Now down={down} up={up} series={series} />
      <Chart name={name} series={series} />
      <p class="muted small foot">
        {t("dashboard.volume", { since: f.moment(since) })}: {t("common.download")}{" "}
        {f.bytes(bytes(port.incoming))}, {t("common.upload")} {f.bytes(bytes(port.outgoing))}
      </p>
    </Card>
  );
}

function Users({ devices }: { devices: Devices }) {
  const f = format();
  const busy = stations(devices)
    .filter((device) => rateOf(device) > 0)
    .sort((a, b) => rateOf(b) - rateOf(a) || (a.mac < b.mac ? -1 : 1))
    .slice(0, BUSIEST);
  const most = busy[0] === undefined ? 1 : rateOf(busy[0]);
  return (
    <Card
      title={t("dashboard.users")}
      action={<a href={formatRoute(["devices"])}>{t("dashboard.users.all")}</a>}
    >
      {busy.length === 0 ? (
        <p class="nothing">{t("dashboard.users.none")}</p>
      ) : (
        <ol class="bars">
          {busy.map((device) => (
            <li key={device.mac}>
              <div class="bar-text">
                <a href={formatRoute(["devices", device.mac])}>
                  <Name text={nameOf(device)} />
                </a>
                <span class="figure">{f.rate(rateOf(device))}</span>
              </div>
              <span class="bar" aria-hidden="true">
                <span class="down" style={{ width: `${(device.rate.received / most) * 100}%` }} />
                <span class="up" style={{ width: `${(device.rate.sent / most) * 100}%` }} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

function Engine() {
  const f = format();
  const { status, packets } = useStore(live);
  if (status === null) return null;
  const forwards = status.modules.includes("offload");
  const share = packets === null || packets.all === 0 ? null : packets.forwarded / packets.all;
  return (
    <Card title={t("dashboard.engine")}>
      {forwards ? (
        <>
          <p class="large">
            {share === null ? (
              <span class="muted">{t("dashboard.engine.idle")}</span>
            ) : (
              f.share(share)
            )}{" "}
            {share !== null && <span class="small muted">{t("dashboard.engine.now")}</span>}
          </p>
          <Meter share={share ?? 0} />
          <p class="muted small">
            {status.fast_path_share !== undefined &&
              t("dashboard.engine.since", { share: f.share(status.fast_path_share) })}
            {packets?.byteRate != null &&
              ` · ${t("dashboard.engine.rate", { rate: f.rate(packets.byteRate) })}`}
          </p>
          <p class="muted small">{t("dashboard.engine.kernel")}</p>
          <Rules told={status.each_packet} />
        </>
      ) : (
        <p>{t("dashboard.engine.off")}</p>
      )}
    </Card>
  );
}

/** Cost of rules that see each packet: the sum, and the most expensive rule. */
function Rules({ told }: { told: Status["each_packet"] }) {
  const f = format();
  const most = told?.rules[0];
  if (told === undefined || most === undefined) return null;
  return (
    <p class="muted small rules">
      {t("dashboard.engine.rules", { count: f.count(told.connections) })}{" "}
      {most.connections > 0 &&
        t("dashboard.engine.rule", { rule: plain(most.rule), count: f.count(most.connections) })}
    </p>
  );
}
