// Recent events at ports. Not a live region: changes are announced above the sockets.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Failure, get } from "@/api/client";
import { live } from "@/api/live";
import { Poller } from "@/api/poller";
import { USUAL } from "@/core/poll";
import { useStore } from "@/core/store";
import { Card, Name } from "@/parts/basic";
import { FailureNotice, Waiting } from "@/parts/failure";
import { format } from "@/text";
import { grown, type Log, NOTHING, reason, said } from "./core/events";
import type { Use } from "./core/ports";
import { Said } from "./said";
import { t } from "./text";
import type { CableEvent, CableEvents } from "./types";

export function HappenedCard() {
  const { status, failure: all } = useStore(live);
  const { log, failure, retry } = useLog(status?.started ?? null);
  return (
    <Card title={t("cables.happened")}>
      {/* The frame says it where the router does not answer at all. */}
      {failure !== null && log !== null && all === null && (
        <FailureNotice failure={failure} retry={retry} />
      )}
      {log === null ? (
        <Waiting failure={all === null ? failure : null} retry={retry} />
      ) : log.events.length === 0 ? (
        <p class="nothing">{t("cables.happened.none")}</p>
      ) : (
        <ol class="happened">
          {log.events.map((event) => (
            <Happened key={event.number} event={event} />
          ))}
        </ol>
      )}
    </Card>
  );
}

function Happened({ event }: { event: CableEvent }) {
  const own = words(event);
  const why = reason(event);
  return (
    <li>
      <span class="happened-time">{time(event.when)}</span>
      <strong>
        <Name text={event.device} />
      </strong>
      <span class="happened-text">
        {own}
        {why !== null && (
          <span class={own === null ? "" : "small muted"}>
            <Said text={why} />
          </span>
        )}
      </span>
    </li>
  );
}

/** Time, with the date for another day. */
function time(seconds: number): string {
  const today = new Date(seconds * 1000).toDateString() === new Date().toDateString();
  return today ? format().clock(seconds) : format().moment(seconds);
}

function words(event: CableEvent): string | null {
  const it = said(event);
  switch (it?.what) {
    case "link":
      return t(it.up ? "cables.heard.link" : "cables.event.down");
    case "role":
      return t("cables.heard.decided", { role: t(`role.${it.role}`) });
    case "move":
      return t(`cables.event.${it.move}`, { use: used(it.use) });
    default:
      return null;
  }
}

const used = (use: Use): string =>
  use === "uplink" || use === "mesh" ? t(`role.${use}`) : t(`cables.use.${use}`);

/** Polls new events only. `started` is the start of the router's numbers. */
function useLog(started: number | null) {
  const [log, setLog] = useState<Log | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [tries, setTries] = useState(0);
  const known = useRef<{ started: number; log: Log } | null>(null);
  // `tries` forces a new request.
  useEffect(() => {
    if (started === null) return;
    if (known.current?.started !== started) known.current = { started, log: NOTHING };
    const mine = known.current;
    const after = ({ last }: Log) => get<CableEvents>("cables/events", { after: String(last) });
    let gone = false;
    const poller = new Poller(
      USUAL,
      async () => {
        const more = grown(mine.log, await after(mine.log));
        const fresh = more ?? grown(NOTHING, await after(NOTHING));
        if (gone || fresh === null) return;
        mine.log = fresh;
        setLog(fresh);
        setFailure(null);
      },
      setFailure,
    );
    return () => {
      gone = true;
      poller.stop();
    };
  }, [started, tries]);
  return { log, failure, retry: () => setTries(tries + 1) };
}
