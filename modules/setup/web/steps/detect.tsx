// Detection of the Internet access by the router. Shows evidence as it arrives.
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, get, send } from "@/api/client";
import { plain } from "@/core/plain";
import { useStore } from "@/core/store";
import { Choice, Notice } from "@/parts/basic";
import { FailureNotice } from "@/parts/failure";
import { Told } from "@/parts/told";
import { format } from "@/text";
import { take } from "../core/form";
import { change, wizard } from "../store";
import { t } from "../text";
import type { Detection, Suggestion } from "../types";

/** Interval of polls for evidence, ms. */
const EVERY = 300;

export function Detect() {
  const { setup } = useStore(wizard);
  const [port, setPort] = useState("");
  const [seen, setSeen] = useState<Detection | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const gone = useRef(false);
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  const start = async () => {
    if (busy) return;
    setBusy(true);
    setFailure(null);
    setSeen({ running: true, port, evidence: [], suggestion: null, failed: null });
    try {
      await send("setup/detect", { port: port === "" ? null : port });
      for (let running = true; running && !gone.current; ) {
        await new Promise((ready) => setTimeout(ready, EVERY));
        const answer = await get<Detection>("setup/detect");
        running = answer.running;
        if (!gone.current) setSeen(answer);
      }
    } catch (error) {
      setFailure(error instanceof Failure ? error : new Failure(0, "", ""));
      setSeen(null);
    }
    setBusy(false);
  };
  const ports = setup?.ports ?? [];
  return (
    <section class="detect" aria-labelledby="detect-title">
      <h3 id="detect-title">{t("detect.title")}</h3>
      <p class="hint">{t("detect.text")}</p>
      <div class="detect-controls">
        {ports.length > 0 && (
          <Choice
            id="detect-port"
            label={t("detect.port")}
            value={port}
            options={[
              ["", t("detect.port.any")] as const,
              ...ports.map((name) => [name, plain(name)] as const),
            ]}
            choose={setPort}
          />
        )}
        <button type="button" class="button primary" aria-disabled={busy} onClick={start}>
          {busy ? t("detect.running") : t("detect.start")}
        </button>
      </div>
      {failure !== null && <FailureNotice failure={failure} />}
      <div aria-live="polite">
        {seen !== null && (
          <>
            <h4>{t("detect.evidence")}</h4>
            {seen.evidence.length === 0 && <p class="hint">{t("detect.nothing")}</p>}
            <ol class="evidence">
              {seen.evidence.map((one) => (
                <li key={`${one.after} ${one.text}`}>
                  <span class="muted small">{format().fewDigits(one.after / 1000)} s</span>
                  <span>
                    <Told text={one.text} />
                    {one.vlan !== null && (
                      <span class="tag">{t("detect.vlan", { vlan: one.vlan })}</span>
                    )}
                  </span>
                </li>
              ))}
            </ol>
          </>
        )}
        {seen?.failed && (
          <Notice kind="bad">
            <Told text={seen.failed} />
          </Notice>
        )}
        {seen?.suggestion && <Suggested found={seen.suggestion} />}
      </div>
    </section>
  );
}

function Suggested({ found }: { found: Suggestion }) {
  const [taken, setTaken] = useState(false);
  const use = () => {
    change(take(wizard.get().form, found), "internet.kind");
    setTaken(true);
  };
  // No server offers a fixed address: the settings work, and nothing needs to be applied.
  const works = found.internet === "static" && found.details.addresses.length === 0;
  return (
    <Notice kind={found.internet === "none" ? "warn" : works ? "good" : "info"}>
      <p>
        <strong>{t(`detect.found.${works ? "working" : found.internet}`)}</strong>{" "}
        {!found.confident && t("detect.unsure")}
      </p>
      <ul class="plain-list">
        {found.why.map((why) => (
          <li key={why}>
            <Told text={why} />
          </li>
        ))}
      </ul>
      {found.lan !== null && found.lan.network !== null && (
        <p>{t("detect.lan", { network: plain(found.lan.network) })}</p>
      )}
      {found.open_questions.length > 0 && (
        <>
          <p>{t("detect.open_questions")}</p>
          <ul class="plain-list">
            {found.open_questions.map((text) => (
              <li key={text}>
                <Told text={text} />
              </li>
            ))}
          </ul>
        </>
      )}
      {found.internet !== "none" &&
        !works &&
        (taken ? (
          <p>{t("detect.taken")}</p>
        ) : (
          <button type="button" class="button" onClick={use}>
            {t("detect.take")}
          </button>
        ))}
    </Notice>
  );
}
