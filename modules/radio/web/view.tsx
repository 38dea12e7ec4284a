// Transmit power of access points, throughput, and peers.
import { live } from "@/api/live";
import { useResource } from "@/api/poller";
import { nameOf, plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import { useStore } from "@/core/store";
import { Card, Facts, Name, Notice, Title } from "@/parts/basic";
import { FailureNotice, Waiting } from "@/parts/failure";
import { type Column, Table } from "@/parts/table";
import { Told } from "@/parts/told";
import { SPAN } from "./core/steps";
import { dbm, NONE, rate } from "./figures";
import { PeersCard } from "./peers";
import { PictureCard } from "./picture";
import { plural, t, word } from "./text";
import type { Radio, RadioLog, RadioPeers, RadioStation, Radios } from "./types";

/** Interval of polls for steps and peers, ms. */
const EVERY = 2 * USUAL;

const WATCH = '[radio.power]\nmode = "watch"';
const MODES = ["watch", "control"] as const;

export function RadioView() {
  const { data, failure, retry } = useResource<Radios>("radio", {}, USUAL);
  const peers = useResource<RadioPeers>("radio/peers", {}, EVERY).data;
  const log = useResource<RadioLog>("radio/log", { seconds: String(SPAN) }, EVERY).data;
  // The frame reports a router that does not answer at all.
  const all = useStore(live).failure;
  if (data === null) {
    return (
      <>
        <Title text={t("view.radio")} />
        <Waiting failure={failure} retry={retry} />
      </>
    );
  }
  const off = data.mode === "off";
  return (
    <>
      <Title text={t("view.radio")}>
        {!off && (
          <p class="muted">
            {plural("radio.count", data.radios.length)} · {word("radio.mode", plain(data.mode))}
          </p>
        )}
      </Title>
      {failure !== null && all === null && <FailureNotice failure={failure} retry={retry} />}
      <div class="grid">
        {off && <Off />}
        {!off && data.radios.length === 0 && <p class="nothing">{t("radio.empty")}</p>}
        {data.radios.map((radio) => (
          <Shown
            key={radio.device}
            radio={radio}
            mode={data.mode}
            steps={log?.logs.find(({ device }) => device === radio.device) ?? null}
          />
        ))}
        {peers !== null && peers.device !== "" && <PeersCard told={peers} />}
      </div>
    </>
  );
}

/** Shows the configuration to write if the module is off. */
function Off() {
  return (
    <Card title={t("radio.off")} class="radio-off">
      <p>{t("radio.off.how")}</p>
      <pre class="code">{WATCH}</pre>
      <ul class="plain-list">
        {MODES.map((mode) => (
          <li key={mode}>
            <span class="code">{`mode = "${mode}"`}</span>: {t(`radio.off.${mode}`)}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Shown(props: { radio: Radio; mode: string; steps: RadioLog["logs"][number] | null }) {
  const { radio, mode, steps } = props;
  return (
    <>
      <div class="column span-4">
        <PowerCard radio={radio} />
      </div>
      <div class="column span-8">
        <PictureCard device={radio.device} watched={mode === "watch"} steps={steps} />
      </div>
      <StationsCard radio={radio} />
    </>
  );
}

function PowerCard({ radio }: { radio: Radio }) {
  const { power_dbm, max_dbm, sufficient_dbm } = radio;
  return (
    <Card title={plain(radio.device)} class="radio-power">
      <p class="large">
        {dbm(power_dbm)} <span class="small muted">{t("radio.power")}</span>
      </p>
      {power_dbm === null && <p>{t("radio.open_questions")}</p>}
      <p>{word("reason", plain(radio.reason))}</p>
      {radio.trouble !== undefined && (
        <Notice kind="warn">
          <Told text={radio.trouble} />
        </Notice>
      )}
      <Facts
        facts={[
          [
            t("radio.enough"),
            sufficient_dbm === null ? t("radio.enough.none") : dbm(sufficient_dbm),
          ],
          [t("radio.most"), dbm(max_dbm)],
        ]}
      />
    </Card>
  );
}

function StationsCard({ radio }: { radio: Radio }) {
  const { devices } = useStore(live);
  const names = new Map(devices?.devices.map((device) => [device.mac, nameOf(device)]));
  const title = t("radio.stations", { device: plain(radio.device) });
  return (
    <Card title={title}>
      <Table
        id={`${radio.device}-`}
        caption={title}
        columns={columns(names)}
        rows={radio.stations}
        rowKey={({ mac }) => mac}
        first="station"
        none={t("radio.stations.none")}
      />
      {radio.stations.length > 0 && <p class="muted small foot">{t("radio.stations.hint")}</p>}
    </Card>
  );
}

function columns(names: ReadonlyMap<string, string>): Column<RadioStation>[] {
  const name = ({ mac }: RadioStation) => names.get(mac) ?? mac;
  return [
    {
      id: "station",
      title: t("radio.station"),
      text: true,
      by: name,
      cell: (row) => <Name text={name(row)} />,
    },
    {
      id: "mac",
      title: t("common.mac"),
      level: 4,
      cell: ({ mac }) => <span class="code">{plain(mac)}</span>,
    },
    {
      id: "throughput",
      title: t("radio.throughput"),
      numeric: true,
      by: ({ throughput_mbit }) => throughput_mbit,
      cell: ({ throughput_mbit }) => rate(throughput_mbit),
    },
    {
      id: "expected",
      title: t("radio.expected"),
      numeric: true,
      level: 3,
      by: ({ expected_mbit }) => expected_mbit,
      cell: ({ expected_mbit }) => rate(expected_mbit),
    },
    {
      id: "power",
      title: t("radio.sent"),
      numeric: true,
      level: 2,
      by: ({ power_dbm }) => power_dbm,
      cell: ({ power_dbm }) => dbm(power_dbm),
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
      id: "decision",
      title: t("radio.decision"),
      cell: ({ decision }) => (decision === null ? NONE : word("reason", plain(decision))),
    },
  ];
}
