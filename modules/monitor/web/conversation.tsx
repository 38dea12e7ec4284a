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
import {
  applicationOf,
  endpoint,
  hookText,
  protocolOf,
  remoteOf,
  Station,
  stationOf,
} from "./conversation-table";
import { fromInside } from "./core/inside";
import { latencyText } from "./figures";
import { t } from "./text";
import type { Conversation, Conversations, Explanation } from "./types";

export function ConversationView({ id }: { id: string }) {
  const { data, failure, retry } = useResource<Conversations>(
    "conversations",
    { sort: "rate", limit: "2000" },
    USUAL,
  );
  const told = data?.conversations.find((candidate) => String(candidate.id) === id);
  const conversation = told === undefined ? undefined : fromInside(told, t("conversations.own"));
  const above = <a href={formatRoute(["conversations"])}>{t("view.conversations")}</a>;
  if (data === null) {
    return (
      <>
        <Title text={t("view.conversations")} />
        <Waiting failure={failure} retry={retry} />
      </>
    );
  }
  if (conversation === undefined) {
    return (
      <>
        <Title text={t("conversation.unknown")} above={above} />
        <p>{t("conversation.unknown.text")}</p>
      </>
    );
  }
  return (
    <>
      <Title
        text={t("conversation.title", {
          device: stationOf(conversation),
          remote: remoteOf(conversation),
        })}
        above={above}
      />
      <div class="grid">
        <Card title={t("conversation.path")}>
          <Path conversation={conversation} />
        </Card>
        <Card title={t("conversation.figures")} wide={5}>
          <Figures conversation={conversation} />
        </Card>
        <Card title={t("conversation.verdict")} wide={7}>
          {conversation.protocol === undefined ? (
            <p>{t("conversation.explain.none")}</p>
          ) : (
            <Why conversation={conversation} />
          )}
        </Card>
      </div>
    </>
  );
}

function Path({ conversation }: { conversation: Conversation }) {
  return (
    <ol class="path">
      <li>
        <p class="path-what">{t("conversation.station")}</p>
        <p class="path-who">
          <Station conversation={conversation} />
        </p>
        <p class="code small">{endpoint(conversation.station, conversation.station_port)}</p>
        <p class="code small muted">{conversation.mac}</p>
      </li>
      <li>
        <p class="path-what">{t("conversation.router")}</p>
        <p class="path-who">{hookText(conversation.hook)}</p>
        <p class="small">
          {conversation.outside !== true &&
            t("conversation.in", { port: plain(conversation.port) })}
          {conversation.vlan !== undefined && `, ${t("device.vlan")} ${conversation.vlan}`}
        </p>
        {conversation.uplink !== undefined && (
          <p class="small">{t("conversation.out", { port: plain(conversation.uplink) })}</p>
        )}
        {conversation.translated !== undefined && (
          <p class="small">
            {t("conversation.translated", { address: plain(conversation.translated) })}
          </p>
        )}
      </li>
      <li>
        <p class="path-what">{t("conversation.remote")}</p>
        <p class="path-who">
          <Name text={remoteOf(conversation)} />
        </p>
        <p class="code small">{endpoint(conversation.remote, conversation.remote_port)}</p>
      </li>
    </ol>
  );
}

function Figures({ conversation }: { conversation: Conversation }) {
  const f = format();
  const now = useStore(live).devices?.now ?? conversation.last_seen;
  return (
    <Facts
      facts={[
        [
          t("common.download"),
          `${f.rate(conversation.rate.received)}, ${f.bytes(conversation.received.bytes)}`,
        ],
        [
          t("common.upload"),
          `${f.rate(conversation.rate.sent)}, ${f.bytes(conversation.sent.bytes)}`,
        ],
        [t("conversations.protocol"), protocolOf(conversation)],
        [t("conversations.application"), applicationOf(conversation)],
        [t("devices.latency"), latencyText(conversation.latency)],
        [
          t("device.retransmissions"),
          conversation.latency === undefined ? "–" : f.count(conversation.latency.retransmissions),
        ],
        [t("conversation.began"), f.moment(conversation.first_seen)],
        [t("device.seen"), f.ago(now - conversation.last_seen)],
      ]}
    />
  );
}

function Why({ conversation }: { conversation: Conversation }) {
  const station = endpoint(conversation.station, conversation.station_port);
  const flow = `${conversation.protocol} ${station} > ${endpoint(conversation.remote, conversation.remote_port)}`;
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
              {witness.ok ? t("conversation.ok") : t("conversation.missing")}
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
          <h3>{t("conversation.change")}</h3>
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
