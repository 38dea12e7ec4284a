// The planned changes, in words and exactly, and the button that applies them.
import { useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { plain } from "@/core/plain";
import { formatRoute } from "@/core/route";
import { useStore } from "@/core/store";
import { Notice } from "@/parts/basic";
import { FailureNotice } from "@/parts/failure";
import { format } from "@/text";
import { grouped, written } from "./core/lines";
import { stepOfField } from "./core/steps";
import { ProblemText, SentenceText } from "./parts/problem";
import { NewAddress } from "./pending";
import { apply, wizard } from "./store";
import { plural, t } from "./text";
import type { Plan } from "./types";

/** Choices of the time to confirm, in seconds. */
const TIMES = [60, 120, 300, 600];
const USUAL = 120;

export function SummaryStep() {
  const { plan, setup } = useStore(wizard);
  if (plan === null) return <p role="status">{t("common.loading")}</p>;
  const { problems, lines, address } = plan;
  return (
    <>
      <p class="lead">{t("summary.lead")}</p>
      {problems.length > 0 && <Problems plan={plan} />}
      {lines.length === 0 ? (
        <Notice kind="good">{t("summary.same")}</Notice>
      ) : (
        <div class="summary">
          <section aria-labelledby="sentences">
            <h3 id="sentences">{t("summary.sentences")}</h3>
            <ul class="sentences">
              {plan.sentences.map((sentence) => (
                <li key={sentence.says}>
                  <SentenceText sentence={sentence} />
                </li>
              ))}
            </ul>
          </section>
          <Difference plan={plan} />
        </div>
      )}
      {address !== null && (
        <Notice kind="warn">{t("summary.address", { address: plain(address) })}</Notice>
      )}
      {lines.length > 0 && problems.length === 0 && setup?.release.known && (
        <Apply address={address} />
      )}
      <section class="as-document" aria-labelledby="as-document">
        <h3 id="as-document">{t("summary.document")}</h3>
        <p class="hint">{t("summary.document.text")}</p>
        <p>
          <code class="code">weir setup export &gt; router.toml</code>
        </p>
        <p>
          <code class="code">weir setup import router.toml</code>
        </p>
      </section>
    </>
  );
}

function Problems({ plan }: { plan: Plan }) {
  return (
    <Notice kind="warn">
      <p>{t("summary.problems")}</p>
      <ul class="plain-list">
        {plan.problems.map((problem) => {
          const step = stepOfField(problem.field);
          return (
            <li key={`${problem.field} ${problem.problem}`}>
              <a href={formatRoute(["setup"], { step })}>{t(`step.${step}`)}</a>:{" "}
              <ProblemText problem={problem} />
            </li>
          );
        })}
      </ul>
    </Notice>
  );
}

function Difference({ plan }: { plan: Plan }) {
  return (
    <section aria-labelledby="difference">
      <h3 id="difference">{t("summary.lines")}</h3>
      <p class="hint">{t("summary.lines.hint")}</p>
      {grouped(plan.lines).map(({ name, lines }) => (
        <details key={name} class="diff" open>
          <summary>
            <span class="code">{plain(name)}</span>{" "}
            <span class="muted small">{plural("summary.lines", lines.length)}</span>
          </summary>
          <ul>
            {lines.map((line) => (
              <li
                key={`${line.added} ${written(line)}`}
                class={line.added ? "diff-added" : "diff-gone"}
              >
                <span class="hidden">{line.added ? t("summary.added") : t("summary.gone")}</span>
                <span aria-hidden="true">{line.added ? "+" : "−"}</span>
                <span>{plain(written(line))}</span>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </section>
  );
}

function Apply({ address }: { address: string | null }) {
  const [why, setWhy] = useState<string | null>(null);
  const [within, setWithin] = useState(USUAL);
  const { busy, failure, run } = useAction<void>();
  const start = () => run(() => apply((why ?? "").trim() || t("summary.why.usual"), within));
  return (
    <div class="apply">
      <div class="field">
        <label for="why">{t("summary.why")}</label>
        <input
          id="why"
          dir="auto"
          maxLength={200}
          autocomplete="off"
          value={why ?? t("summary.why.usual")}
          onInput={(event) => setWhy(event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for="within">{t("summary.within")}</label>
        <select
          id="within"
          value={within}
          aria-describedby="within-hint"
          onChange={(event) => setWithin(Number(event.currentTarget.value))}
        >
          {TIMES.map((seconds) => (
            <option key={seconds} value={seconds}>
              {format().span(seconds)}
            </option>
          ))}
        </select>
        <p class="hint" id="within-hint">
          {t("summary.within.text")}
        </p>
      </div>
      {failure !== null && <FailureNotice failure={failure} />}
      {failure?.status === 0 && address !== null && <NewAddress address={address} />}
      <button type="button" class="button primary" aria-disabled={busy} onClick={start}>
        {busy ? t("summary.applying") : t("summary.apply")}
      </button>
    </div>
  );
}
