// Page of a conversation: its path through the router, its figures, and the reason for the path.
import { live } from "@/api/live";
import { useResource } from "@/api/poller";
import { plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import { formatRoute } from "@/core/route";
import { useStore } from "@/core/store";
import { Card, Facts, Name, Title } from "@/parts/basic";
import { Waiting } from "@/parts/failure";
import { Told } from "@/parts/told";
import { format } from "@/text";
import { fromInside } from "./core/inside";
import { latencyText } from "./figures";
import {
  applicationOf,
  endpoint,
  farOf,
  hookText,
  protocolOf,
  Station,
  stationOf,
} from "./talk-table";
import { t } from "./text";
import type { Explanation, Talk, Talks } from "./types";

export function TalkView({ id }: { id: string }) {
  const { data, failure, retry } = useResource<Talks>(
    "talks",
    { sort: "rate", limit: "2000" },
    USUAL,
  );
  const told = data?.talks.find((candidate) => String(candidate.id) === id);
  const talk = told === undefined ? undefined : fromInside(told, t("talks.own"));
  const above = <a href={formatRoute(["talks"])}>{t("view.talks")}</a>;
  if (data === null) {
    return (
      <>
        <Title text={t("view.talks")} />
        <Waiting failure={failure} retry={retry} />
      </>
    );
  }
  if (talk === undefined) {
    return (
      <>
        <Title text={t("talk.unknown")} above={above} />
        <p>{t("talk.unknown.text")}</p>
      </>
    );
  }
  return (
    <>
      <Title text={t("talk.title", { device: stationOf(talk), far: farOf(talk) })} above={above} />
      <div class="grid">
        <Card title={t("talk.path")}>
          <Path talk={talk} />
        </Card>
        <Card title={t("talk.figures")} wide={5}>
          <Figures talk={talk} />
        </Card>
        <Card title={t("talk.verdict")} wide={7}>
          {talk.protocol === undefined ? <p>{t("talk.explain.none")}</p> : <Why talk={talk} />}
        </Card>
      </div>
    </>
  );
}

function Path({ talk }: { talk: Talk }) {
  return (
    <ol class="path">
      <li>
        <p class="path-what">{t("talk.station")}</p>
        <p class="path-who">
          <Station talk={talk} />
        </p>
        <p class="code small">{endpoint(talk.station, talk.station_port)}</p>
        <p class="code small muted">{talk.mac}</p>
      </li>
      <li>
        <p class="path-what">{t("talk.router")}</p>
        <p class="path-who">{hookText(talk.hook)}</p>
        <p class="small">
          {talk.outside !== true && t("talk.in", { port: plain(talk.port) })}
          {talk.vlan !== undefined && `, ${t("device.vlan")} ${talk.vlan}`}
        </p>
        {talk.uplink !== undefined && (
          <p class="small">{t("talk.out", { port: plain(talk.uplink) })}</p>
        )}
        {talk.translated !== undefined && (
          <p class="small">{t("talk.translated", { address: plain(talk.translated) })}</p>
        )}
      </li>
      <li>
        <p class="path-what">{t("talk.far")}</p>
        <p class="path-who">
          <Name text={farOf(talk)} />
        </p>
        <p class="code small">{endpoint(talk.far, talk.far_port)}</p>
      </li>
    </ol>
  );
}

function Figures({ talk }: { talk: Talk }) {
  const f = format();
  const now = useStore(live).devices?.now ?? talk.last_seen;
  return (
    <Facts
      facts={[
        [t("common.download"), `${f.rate(talk.rate.received)}, ${f.bytes(talk.received.bytes)}`],
        [t("common.upload"), `${f.rate(talk.rate.sent)}, ${f.bytes(talk.sent.bytes)}`],
        [t("talks.protocol"), protocolOf(talk)],
        [t("talks.application"), applicationOf(talk)],
        [t("devices.latency"), latencyText(talk.latency)],
        [
          t("device.retransmissions"),
          talk.latency === undefined ? "–" : f.count(talk.latency.retransmissions),
        ],
        [t("talk.began"), f.moment(talk.first_seen)],
        [t("device.seen"), f.ago(now - talk.last_seen)],
      ]}
    />
  );
}

function Why({ talk }: { talk: Talk }) {
  const station = endpoint(talk.station, talk.station_port);
  const flow = `${talk.protocol} ${station} > ${endpoint(talk.far, talk.far_port)}`;
  const { data, failure, retry } = useResource<Explanation>("explain", { flow }, 10_000);
  if (data === null) return <Waiting failure={failure} retry={retry} />;
  return (
    <>
      <p class="verdict">
        <Told text={data.verdict} />
      </p>
      <ul class="witnesses">
        {data.witnesses.map((witness, index) => (
          <li key={`${witness.name} ${index}`}>
            <span class={`tag ${witness.ok ? "good" : "fair"}`}>
              {witness.ok ? t("talk.ok") : t("talk.missing")}
            </span>
            <div>
              <strong>{witnessName(witness.name)}</strong>
              <p>
                <Told text={witness.text} />
              </p>
            </div>
          </li>
        ))}
      </ul>
      {data.change.length > 0 && (
        <>
          <h3>{t("talk.change")}</h3>
          <ul class="plain-list">
            {data.change.map((sentence) => (
              <li key={sentence}>
                <Told text={sentence} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function witnessName(name: string): string {
  return name === "seen" || name === "known" || name === "proven"
    ? t(`witness.${name}`)
    : plain(name);
}
