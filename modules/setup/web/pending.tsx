// A change that needs confirmation: above every view, because the time is short.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { live } from "@/api/live";
import { plain } from "@/core/plain";
import { useStore } from "@/core/store";
import { Notice } from "@/parts/basic";
import { FailureNotice } from "@/parts/failure";
import { format, speaks } from "@/text";
import { pageAt } from "./core/lines";
import { end, load, look, wizard } from "./store";
import { t } from "./text";
import type { Reach } from "./types";

/** Interval of polls for the change's state, ms. */
const EVERY = 2000;
/** Author of changes that need no confirmation: weir, when it moves ports. */
const ITSELF = "weir cables";

export function PendingAbove() {
  const { setup, ended } = useStore(wizard);
  const { status } = useStore(live);
  const runs = status?.modules.includes("setup") === true;
  // Once: later changes come from this page, or are seen in the view.
  useEffect(() => {
    if (runs && wizard.get().setup === null) void load();
  }, [runs]);
  const own = speaks("setup") ? {} : ({ lang: "en", dir: "ltr" } as const);
  if (setup?.pending) {
    return (
      <div class="pending-room" {...own}>
        {setup.pending.who === ITSELF ? <ByItself why={setup.pending.why} /> : <Pending />}
      </div>
    );
  }
  if (ended === null) return null;
  return (
    <div class="pending-room" role="status" {...own}>
      <Notice kind={ended === "confirmed" ? "good" : "warn"}>{t(`pending.${ended}`)}</Notice>
    </div>
  );
}

/** Reports an automatic change that weir keeps or reverts; no confirmation is needed. */
function ByItself({ why }: { why: string }) {
  useEffect(() => {
    const again = setInterval(() => void look(), EVERY);
    return () => clearInterval(again);
  }, []);
  return (
    <div role="status">
      <Notice kind="info">{t("pending.itself", { why: plain(why) })}</Notice>
    </div>
  );
}

/** Address of the router after a change of its address. */
export function NewAddress({ address }: { address: string }) {
  const page = pageAt(address, location);
  return (
    <p>
      {t("pending.address")}{" "}
      <a class="code" href={page}>
        {page}
      </a>
    </p>
  );
}

/** State of the Internet access, as far as the router knows. */
function Reached({ reach: { way, whom } }: { reach: Reach }) {
  const text =
    way === "no-names" && whom === null
      ? t("reach.no-server")
      : t(`reach.${way}`, { whom: plain(whom ?? "") });
  return (
    <div aria-live="polite">
      <Notice kind={way === "reached" ? "good" : "warn"}>{text}</Notice>
    </div>
  );
}

function Pending() {
  const { setup, deadline, lost, applied } = useStore(wizard);
  const [, tick] = useState(0);
  const { busy, failure, run } = useAction<void>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus();
    window.scrollTo(0, 0);
    const second = setInterval(() => tick((count) => count + 1), 1000);
    const again = setInterval(() => void look(), EVERY);
    return () => {
      clearInterval(second);
      clearInterval(again);
    };
  }, []);
  const left = Math.max(0, Math.ceil((deadline - performance.now()) / 1000));
  const address = applied?.address ?? null;
  return (
    <section class="card pending" aria-labelledby="pending-title">
      <h2 id="pending-title" ref={heading} tabIndex={-1}>
        {t("pending.title")}
      </h2>
      <p>{t("pending.text", { why: plain(setup?.pending?.why ?? "") })}</p>
      {address !== null && <NewAddress address={address} />}
      <p class="pending-left" role="timer">
        {t("pending.left", { time: format().span(left) })}
      </p>
      {setup?.reach && <Reached reach={setup.reach} />}
      {left === 0 && <p>{t("pending.over")}</p>}
      {lost && <Notice kind="warn">{t("pending.lost")}</Notice>}
      {failure !== null && <FailureNotice failure={failure} />}
      <p class="buttons">
        <button
          type="button"
          class="button primary"
          aria-disabled={busy}
          onClick={() => run(() => end("confirm"))}
        >
          {t("pending.confirm")}
        </button>
        <button
          type="button"
          class="button"
          aria-disabled={busy}
          onClick={() => run(() => end("revert"))}
        >
          {t("pending.revert")}
        </button>
      </p>
    </section>
  );
}
