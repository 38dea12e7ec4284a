// All conversations.
import { live } from "@/api/live";
import { useResource } from "@/api/poller";
import { matches } from "@/core/order";
import { plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import type { Route } from "@/core/route";
import { useStore } from "@/core/store";
import { Choice, Search, Title } from "@/parts/basic";
import { FailureNotice, Waiting } from "@/parts/failure";
import { setQuery } from "@/shell/router";
import { format } from "@/text";
import { fromInside } from "./core/inside";
import { TalkView } from "./talk";
import { applicationOf, farOf, protocolOf, stationOf, TalkTable } from "./talk-table";
import { t } from "./text";
import type { Talks } from "./types";

/** Requested conversations: more than a person reads, and little load for a router. */
const LIMIT = "500";

export function TalksView({ route }: { route: Route }) {
  const id = route.path[1];
  return id === undefined ? <TalkList route={route} /> : <TalkView key={id} id={id} />;
}

function TalkList({ route }: { route: Route }) {
  const find = route.query.find ?? "";
  const port = route.query.port ?? "";
  const { devices } = useStore(live);
  const { data, failure, retry } = useResource<Talks>(
    "talks",
    { port, sort: "rate", limit: LIMIT },
    USUAL,
  );
  const ports = devices?.ports ?? [];
  const talks = (data?.talks ?? []).map((talk) => fromInside(talk, t("talks.own")));
  const fitting = talks.filter((talk) =>
    matches(find, [
      stationOf(talk),
      farOf(talk),
      talk.station,
      talk.far,
      talk.mac,
      applicationOf(talk),
      protocolOf(talk),
      String(talk.far_port),
    ]),
  );
  const options: [string, string][] = [
    ["", t("talks.port.all")],
    ...ports.map(({ name, uplink }): [string, string] => [
      name,
      uplink ? `${plain(name)} (${t("common.uplink")})` : plain(name),
    ]),
  ];
  return (
    <>
      <Title text={t("view.talks")} />
      <div class="controls">
        <Search
          id="find"
          label={t("talks.filter")}
          value={find}
          set={(text) => setQuery({ find: text })}
        />
        <Choice
          id="port"
          label={t("talks.port")}
          value={port}
          options={options}
          choose={(name) => setQuery({ port: name })}
        />
        <p class="muted" aria-live={find === "" ? "off" : "polite"}>
          {data !== null &&
            t("common.shown", {
              shown: format().count(fitting.length),
              total: format().count(talks.length),
            })}
        </p>
      </div>
      {data === null ? (
        <Waiting failure={failure} retry={retry} />
      ) : (
        <>
          {failure !== null && <FailureNotice failure={failure} retry={retry} />}
          <div class="card">
            {talks.length === 0 ? (
              <p class="nothing">{t("talks.empty")}</p>
            ) : (
              <TalkTable talks={fitting} now={devices?.now ?? 0} withDevice folds={find === ""} />
            )}
            {data.total > data.talks.length && (
              <p class="muted small foot">
                {t("talks.limited", {
                  shown: format().count(data.talks.length),
                  total: format().count(data.total),
                })}
              </p>
            )}
          </div>
        </>
      )}
    </>
  );
}
