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
import { ConversationView } from "./conversation";
import {
  applicationOf,
  ConversationTable,
  protocolOf,
  remoteOf,
  stationOf,
} from "./conversation-table";
import { fromInside } from "./core/inside";
import { t } from "./text";
import type { Conversations } from "./types";

/** Requested conversations: more than a person reads, and little load for a router. */
const LIMIT = "500";

export function ConversationsView({ route }: { route: Route }) {
  const id = route.path[1];
  return id === undefined ? (
    <ConversationList route={route} />
  ) : (
    <ConversationView key={id} id={id} />
  );
}

function ConversationList({ route }: { route: Route }) {
  const find = route.query.find ?? "";
  const port = route.query.port ?? "";
  const { devices } = useStore(live);
  const { data, failure, retry } = useResource<Conversations>(
    "conversations",
    { port, sort: "rate", limit: LIMIT },
    USUAL,
  );
  const ports = devices?.ports ?? [];
  const conversations = (data?.conversations ?? []).map((conversation) =>
    fromInside(conversation, t("conversations.own")),
  );
  const fitting = conversations.filter((conversation) =>
    matches(find, [
      stationOf(conversation),
      remoteOf(conversation),
      conversation.station,
      conversation.remote,
      conversation.mac,
      applicationOf(conversation),
      protocolOf(conversation),
      String(conversation.remote_port),
    ]),
  );
  const options: [string, string][] = [
    ["", t("conversations.port.all")],
    ...ports.map(({ name, uplink }): [string, string] => [
      name,
      uplink ? `${plain(name)} (${t("common.uplink")})` : plain(name),
    ]),
  ];
  return (
    <>
      <Title text={t("view.conversations")} />
      <div class="controls">
        <Search
          id="find"
          label={t("conversations.filter")}
          value={find}
          set={(text) => setQuery({ find: text })}
        />
        <Choice
          id="port"
          label={t("conversations.port")}
          value={port}
          options={options}
          choose={(name) => setQuery({ port: name })}
        />
        <p class="muted" aria-live={find === "" ? "off" : "polite"}>
          {data !== null &&
            t("common.shown", {
              shown: format().count(fitting.length),
              total: format().count(conversations.length),
            })}
        </p>
      </div>
      {data === null ? (
        <Waiting failure={failure} retry={retry} />
      ) : (
        <>
          {failure !== null && <FailureNotice failure={failure} retry={retry} />}
          <div class="card">
            {conversations.length === 0 ? (
              <p class="nothing">{t("conversations.empty")}</p>
            ) : (
              <ConversationTable
                conversations={fitting}
                now={devices?.now ?? 0}
                withDevice
                folds={find === ""}
              />
            )}
            {data.total > data.conversations.length && (
              <p class="muted small foot">
                {t("conversations.limited", {
                  shown: format().count(data.conversations.length),
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
