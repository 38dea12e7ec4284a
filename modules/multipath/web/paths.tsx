// Uplinks that are used as one: state of the partner, and traffic of each uplink.
import { live, recorded } from "@/api/live";
import { plain } from "@/core/plain";
import type { Route } from "@/core/route";
import { useStore } from "@/core/store";
import { Card, Facts, Meter, Name, Notice, Segments, Title } from "@/parts/basic";
import { Waiting } from "@/parts/failure";
import { setQuery } from "@/shell/router";
import { format } from "@/text";
import { exposures, type Uplink, uplinks } from "./core/paths";
import { Layers, partOf } from "./layers";
import { told } from "./live";
import { plural, t } from "./text";
import type { Candidate, Carriage, Forward, Paths } from "./types";

type Way = "down" | "up";

/** Longest span of the chart, in seconds. */
const SPAN = 600;

export function PathsView({ route }: { route: Route }) {
  const { devices, status, failure } = useStore(live);
  const paths = useStore(told);
  const way: Way = route.query.way === "up" ? "up" : "down";
  if (paths === null) {
    const none = status !== null && status.multipath === undefined;
    return (
      <>
        <Title text={t("view.paths")} />
        {none ? <p>{t("paths.nopartner")}</p> : <Waiting failure={failure} />}
      </>
    );
  }
  const all = uplinks(paths.paths);
  const names = drawn(all, devices?.now ?? 0);
  return (
    <>
      <Title text={t("view.paths")}>
        <p class="muted">
          {plural("paths.uplinks", all.length)} · {plural("paths.open", paths.connections.open)}
        </p>
      </Title>
      <div class="grid">
        <div class="column span-8">
          {(paths.twins ?? []).map((twin) => (
            <Notice key={twin.device} kind="warn">
              {t("paths.twin", {
                device: plain(twin.device),
                address: plain(twin.address),
                of: plain(twin.of),
              })}
            </Notice>
          ))}
          <Shares all={all} names={names} way={way} />
        </div>
        <div class="column span-4">
          <Partner paths={paths} />
          <Connections carriage={paths.connections} />
          <Forwards forwards={paths.forwards ?? []} />
        </div>
        {all.map((uplink) => (
          <PathCard
            key={uplink.device}
            uplink={uplink}
            part={partOf(names.indexOf(uplink.device))}
            all={all}
            way={way}
          />
        ))}
      </div>
    </>
  );
}

const seriesOf = (device: string) => recorded.get(`path ${device}`);

/**
 * Uplinks in the chart, by name: vanished ones stay as long as their part of the chart. So each
 * keeps its colour.
 */
function drawn(all: readonly Uplink[], now: number): string[] {
  const names = [...recorded.names("path ", now - SPAN), ...all.map(({ device }) => device)];
  return [...new Set(names)].sort();
}

/** Current rates; zero until there are two polls. */
const rateOf = (uplink: Uplink) => seriesOf(uplink.device).at(-1) ?? { down: 0, up: 0 };

function Shares(props: { all: readonly Uplink[]; names: readonly string[]; way: Way }) {
  const { all, names, way } = props;
  const f = format();
  const title = t("paths.shares");
  const sum = all.reduce((rate, uplink) => rate + rateOf(uplink)[way], 0);
  return (
    <Card
      title={title}
      action={
        <Segments
          name="way"
          label={t("paths.way")}
          value={way}
          options={[
            ["down", t("common.download")],
            ["up", t("common.upload")],
          ]}
          choose={(chosen) => setQuery({ way: chosen })}
        />
      }
    >
      {names.length === 0 ? (
        <p class="nothing">{t("paths.none")}</p>
      ) : (
        <>
          <p class="large">
            {f.rate(sum)} <span class="small muted">{t("paths.sum")}</span>
          </p>
          <Layers
            name={`${title}, ${t(way === "down" ? "common.download" : "common.upload")}`}
            names={names.map(plain)}
            series={names.map(seriesOf)}
            way={way}
          />
          <ul class="legend">
            {names.map((device, index) => (
              <li key={device}>
                <span class={`key ${partOf(index)}`} aria-hidden="true" />
                <Name text={device} />
                {all.every((uplink) => uplink.device !== device) && ` (${t("paths.gone")})`}
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

function Partner({ paths }: { paths: Paths }) {
  const partner = plain(paths.partner ?? "");
  const kind = { connected: "good", failed: "bad" } as const;
  const known = paths.state === "connected" || paths.state === "failed";
  const state =
    paths.state === "connected" || paths.state === "failed" || paths.state === "off"
      ? paths.state
      : "connecting";
  return (
    <Card title={t("paths.partner")}>
      <Notice kind={known ? kind[paths.state as keyof typeof kind] : "info"}>
        <strong>{t(`paths.state.${state}`)}</strong>
        {paths.problem !== undefined && <p>{plain(paths.problem)}</p>}
        {state === "connected" && paths.redirects && <p>{t("paths.redirects")}</p>}
        {paths.tunnel && <p>{t("paths.tunnel")}</p>}
        {paths.stops && state !== "connected" && <p>{t("paths.stops")}</p>}
        {paths.locked && <p>{t("paths.locked")}</p>}
      </Notice>
      <Facts
        facts={[
          [t("common.address"), <span class="code">{partner}</span>],
          [t("paths.version"), paths.version === undefined ? "–" : plain(paths.version)],
        ]}
      />
      <Candidates partners={paths.partners ?? []} />
      {paths.keyless !== undefined && (
        <Notice kind="warn">
          {t("paths.keyless")}
          <p>{plain(paths.keyless)}</p>
        </Notice>
      )}
      <ul class="plain-list">
        {exposures(paths.exposed).map((exposure) => (
          <li key={exposure}>{t(`paths.exposed.${exposure}`)}</li>
        ))}
      </ul>
    </Card>
  );
}

/** Partners in the order of the attempts. */
function Candidates({ partners }: { partners: readonly Candidate[] }) {
  if (partners.length === 0) return null;
  return (
    <>
      <p class="small muted">{t("paths.candidates")}</p>
      <ol class="plain-list">
        {partners.map((one) => (
          <li key={one.partner}>
            <span class="code">{plain(one.partner)}</span> {t(`paths.candidate.${stateOf(one)}`)}
            {one.problem !== undefined && <p class="small muted">{plain(one.problem)}</p>}
          </li>
        ))}
      </ol>
    </>
  );
}

function stateOf({ in_use, reached }: Candidate): "used" | "untried" | "ready" | "failed" {
  if (in_use) return "used";
  if (reached === undefined) return "untried";
  return reached ? "ready" : "failed";
}

function Connections({ carriage }: { carriage: Carriage }) {
  const f = format();
  return (
    <Card title={t("paths.connections")}>
      <Facts
        facts={[
          [t("paths.connections.open"), f.count(carriage.open)],
          [t("paths.connections.all"), f.count(carriage.all)],
          [t("paths.connections.direct"), f.count(carriage.direct)],
          [t("paths.connections.clear"), f.count(carriage.clear)],
          [t("paths.connections.refused"), f.count(carriage.refused)],
          [t("common.download"), f.bytes(carriage.received)],
          [t("common.upload"), f.bytes(carriage.sent)],
        ]}
      />
    </Card>
  );
}

/** Ports of the partner that lead into the LAN. */
function Forwards({ forwards }: { forwards: readonly Forward[] }) {
  if (forwards.length === 0) return null;
  return (
    <Card title={t("paths.forwards")}>
      <ul class="plain-list">
        {forwards.map(({ ports, to, granted }) => (
          <li key={ports}>
            <span class="code">{plain(ports)}</span> → <span class="code">{plain(to)}</span>
            {granted === false && <Notice kind="warn">{t("paths.forwards.refused")}</Notice>}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function PathCard(props: { uplink: Uplink; part: string; all: readonly Uplink[]; way: Way }) {
  const { uplink, part, all, way } = props;
  const f = format();
  const rate = rateOf(uplink);
  const sum = all.reduce((so_far, one) => so_far + rateOf(one)[way], 0);
  const share = sum > 0 ? rate[way] / sum : 0;
  const gone = uplink.sent + uplink.retransmitted;
  return (
    <Card
      title={plain(uplink.device)}
      wide={all.length % 3 === 0 ? 4 : 6}
      class="path-card"
      action={
        uplink.note === null ? null : <span class="tag">{t(`paths.note.${uplink.note}`)}</span>
      }
    >
      <p class="path-share">
        <span class={`key ${part}`} aria-hidden="true" />
        {f.share(share)} <span class="small muted">{t(`paths.share.${way}`)}</span>
      </p>
      <Meter share={share} kind={part} />
      {uplink.strips && <Notice kind="warn">{t("paths.strips")}</Notice>}
      {uplink.fell_back > 0 && (
        <Notice kind="warn">{plural("paths.fell_back", uplink.fell_back)}</Notice>
      )}
      <Facts
        facts={[
          [t("common.download"), f.rate(rate.down)],
          [t("common.upload"), f.rate(rate.up)],
          [t("paths.rtt"), uplink.rtt === null ? "–" : f.milliseconds(uplink.rtt / 1000)],
          [t("paths.subflows"), f.count(uplink.subflows)],
          [t("common.received"), f.bytes(uplink.received)],
          [t("common.sent"), f.bytes(uplink.sent)],
          [t("paths.tunnelled"), f.bytes(uplink.tunnel)],
          [t("paths.again"), gone === 0 ? "–" : f.share(uplink.retransmitted / gone)],
          [t("common.address"), <Lines lines={uplink.addresses} />],
          [t("paths.gateway"), <Lines lines={uplink.gateways} />],
        ]}
      />
    </Card>
  );
}

function Lines({ lines }: { lines: readonly string[] }) {
  if (lines.length === 0) return <span class="muted">–</span>;
  return (
    <>
      {lines.map((line) => (
        <span key={line} class="code line">
          {line}
        </span>
      ))}
    </>
  );
}
