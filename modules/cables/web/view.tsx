// The view of ports.
import { useEffect, useRef, useState } from "preact/hooks";
import { live } from "@/api/live";
import { useResource } from "@/api/poller";
import { ordered } from "@/core/order";
import { plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import type { Route } from "@/core/route";
import { useStore } from "@/core/store";
import { Card, Notice, Title } from "@/parts/basic";
import { FailureNotice, Waiting } from "@/parts/failure";
import { setQuery } from "@/shell/router";
import { format, language } from "@/text";
import { type Change, chosen, follow, type Settled } from "./core/ports";
import { ChoiceCard, Detail, HeardCard } from "./detail";
import { HappenedCard } from "./happened";
import { Sockets } from "./sockets";
import { plural, t, word } from "./text";
import type { Cables } from "./types";

/** Number of shown changes. */
const NEWS = 3;

/** Configuration that enables the module. */
const SUGGEST = '[cables]\nmode = "suggest"';
const MODES = ["suggest", "auto"] as const;

export function CablesView({ route }: { route: Route }) {
  const { data, failure, retry } = useResource<Cables>("cables", {}, USUAL);
  const news = useNews(data);
  // The frame reports a router that does not answer at all.
  const all = useStore(live).failure;
  if (data === null) {
    return (
      <>
        <Title text={t("view.cables")} />
        <Waiting failure={failure} retry={retry} />
      </>
    );
  }
  if (data.mode === "off") return <Off />;
  const cables = ordered(data.cables, ({ device }) => device, false, language.get());
  const wanted = route.query.port;
  const port = chosen(cables, wanted);
  return (
    <>
      <Title text={t("view.cables")}>
        <p class="muted">
          {plural("cables.count", cables.length)} · {word("cables.mode", plain(data.mode))}
        </p>
      </Title>
      <div aria-live="polite" class="news">
        {news.map(({ id, time, change }) => (
          <Notice key={id} kind="info">
            <span class="news-time">{format().clock(time)}</span> {inWords(change)}
          </Notice>
        ))}
      </div>
      {failure !== null && all === null && <FailureNotice failure={failure} retry={retry} />}
      <div class="grid">
        <Card title={t("cables.sockets")}>
          {cables.length === 0 ? (
            <p class="nothing">{t("cables.empty")}</p>
          ) : (
            <Sockets
              cables={cables}
              chosen={port?.device ?? null}
              choose={(device) => setQuery({ port: device })}
            />
          )}
        </Card>
        {port === null && wanted !== undefined && (
          <p>{t("cables.gone", { device: plain(wanted) })}</p>
        )}
        {port !== null && (
          <>
            <div class="column span-7">
              <Detail cable={port} />
              <ChoiceCard
                key={port.device}
                cable={port}
                auto={data.mode === "auto"}
                changed={retry}
              />
            </div>
            <div class="column span-5">
              <HeardCard cable={port} />
            </div>
          </>
        )}
        <HappenedCard />
      </div>
    </>
  );
}

/** Shows the configuration to write if the module is off. */
function Off() {
  return (
    <>
      <Title text={t("view.cables")} />
      <div class="grid">
        <Card title={t("cables.off")} class="cables-off">
          <p>{t("cables.off.how")}</p>
          <pre class="code">{SUGGEST}</pre>
          <p>{t("cables.off.then")}</p>
          <ul class="plain-list">
            {MODES.map((mode) => (
              <li key={mode}>
                <span class="code">{`mode = "${mode}"`}</span>: {t(`cables.off.${mode}`)}
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </>
  );
}

function inWords(change: Change): string {
  const device = plain(change.device);
  return "use" in change
    ? t(`cables.used.${change.use}`, { device })
    : t("cables.changed", { device, role: t(`role.${change.what}`) });
}

interface News {
  change: Change;
  id: number;
  /** Seconds since 1970, by the browser's clock. */
  time: number;
}

/** Changes while the view is open, the newest first. */
function useNews(data: Cables | null): readonly News[] {
  const before = useRef<Settled | null>(null);
  const many = useRef(0);
  const [news, setNews] = useState<readonly News[]>([]);
  useEffect(() => {
    if (data === null) return;
    const { settled, changes } = follow(before.current, data.cables);
    before.current = settled;
    if (changes.length === 0) return;
    const time = Date.now() / 1000;
    const fresh = changes.map((change) => {
      many.current += 1;
      return { change, id: many.current, time };
    });
    setNews((former) => [...fresh, ...former].slice(0, NEWS));
  }, [data]);
  return news;
}
