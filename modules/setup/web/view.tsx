// The wizard: its steps in the route's query, so that the browser's own "back" works.
import { useEffect, useRef, useState } from "preact/hooks";
import { plain } from "@/core/plain";
import { formatRoute, type Route } from "@/core/route";
import { useStore } from "@/core/store";
import { Notice, Title } from "@/parts/basic";
import { FailureNotice, Waiting } from "@/parts/failure";
import { after, before, problemsOf, STEPS, type Step, stepOf, unshown, within } from "./core/steps";
import { Once, States } from "./once";
import { fields, ProblemText } from "./parts/problem";
import { InternetStep } from "./steps/internet";
import { LanguageStep } from "./steps/language";
import { RouterStep } from "./steps/router";
import { ServicesStep } from "./steps/services";
import { WifiStep } from "./steps/wifi";
import { anew, begun, leave, visit, wizard } from "./store";
import { SummaryStep } from "./summary";
import { t } from "./text";
import type { Setup } from "./types";

const SHOWN = {
  language: LanguageStep,
  router: RouterStep,
  internet: InternetStep,
  wifi: WifiStep,
  services: ServicesStep,
  summary: SummaryStep,
};

const linkTo = (step: Step) => formatRoute(["setup"], { step });

const go = (step: Step) => {
  location.hash = linkTo(step);
};

export function SetupView({ route }: { route: Route }) {
  const { setup, failure, visited } = useStore(wizard);
  useEffect(() => {
    void begun();
  }, []);
  if (setup === null) {
    return (
      <>
        <Title text={t("setup.title")} />
        <Waiting failure={failure} retry={begun} />
      </>
    );
  }
  return (
    <>
      <Title text={t("setup.title")}>
        <p class="muted">
          {t("setup.release", {
            model: plain(setup.model ?? t("setup.router")),
            name: plain(setup.release.name),
            version: plain(setup.release.version),
          })}
        </p>
      </Title>
      <div class="wizard">
        <Once />
        {setup.pending === null && (
          <>
            <Steps step={stepOf(route.query.step, visited)} setup={setup} />
            <States setup={setup} />
          </>
        )}
      </div>
    </>
  );
}

/** No form submits the text: "enter" in a field continues. */
function Steps({ step, setup }: { step: Step; setup: Setup }) {
  const { planFailure, tried, plan } = useStore(wizard);
  const heading = useRef<HTMLHeadingElement>(null);
  const body = useRef<HTMLFormElement>(null);
  const shown = useRef(step);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (shown.current === step) return;
    shown.current = step;
    window.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, [step]);
  const Step = SHOWN[step];
  const next = after(step);
  const previous = before(step);
  const stuck = tried.includes(step) && problemsOf(plan?.problems ?? [], step).length > 0;
  const forward = async (event: Event) => {
    event.preventDefault();
    if (busy || next === undefined) return;
    setBusy(true);
    const free = await leave(step);
    setBusy(false);
    if (free) {
      visit(next);
      go(next);
    } else {
      // The marking comes with the next drawing.
      setTimeout(() =>
        body.current?.querySelector<HTMLElement>("[aria-invalid=true], .wrong")?.focus(),
      );
    }
  };
  return (
    <>
      <Progress now={step} />
      <Forgotten />
      {!setup.release.known && <Notice kind="warn">{t("setup.unknown")}</Notice>}
      <section class={`card step step-${step}`} aria-labelledby="step-title">
        <h2 id="step-title" ref={heading} tabIndex={-1}>
          {t(`step.${step}`)}
        </h2>
        <form ref={body} class="step-form" noValidate onSubmit={forward}>
          <Step />
          {planFailure !== null && <FailureNotice failure={planFailure} />}
          <div aria-live="polite">{stuck && <Stuck step={step} />}</div>
          <p class="step-buttons">
            {previous !== undefined && (
              <button type="button" class="button" onClick={() => go(previous)}>
                {t("setup.back")}
              </button>
            )}
            {next !== undefined && (
              <button type="submit" class="button primary" aria-disabled={busy}>
                {t("setup.next")}
              </button>
            )}
          </p>
        </form>
      </section>
      <Anew />
    </>
  );
}

/** Groups of the services. Problems of the place, another group, have paths of the router. */
const GROUPS = ["lan", "dns", "mesh", "wireguard", "openvpn", "firewall"] as const;

/** Lists problems that no field shows, such as one of `internet.port`. */
function Stuck({ step }: { step: Step }) {
  const { plan } = useStore(wizard);
  const problems = unshown(plan?.problems ?? [], step, useStore(fields));
  const group = (field: string) => GROUPS.find((part) => within(part, field)) ?? "place";
  return (
    <Notice kind="warn">
      <p>{t("setup.fix")}</p>
      {problems.length > 0 && (
        <ul class="plain-list">
          {problems.map((problem) => (
            <li key={`${problem.field} ${problem.problem}`}>
              {step === "services" && `${t(`services.${group(problem.field)}`)}: `}
              <ProblemText problem={problem} />
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

function Progress({ now }: { now: Step }) {
  const { visited, plan } = useStore(wizard);
  const problems = plan?.problems ?? [];
  return (
    <nav class="progress" aria-label={t("setup.steps")}>
      <ol>
        {STEPS.map((step) => {
          const seen = visited.includes(step);
          const wrong = seen && step !== now && problemsOf(problems, step).length > 0;
          const state = wrong ? "wrong" : seen && step !== now ? "done" : "";
          const name = (
            <>
              <span class="progress-name">{t(`step.${step}`)}</span>
              {state !== "" && (
                <span class="hidden">
                  {" "}
                  ({wrong ? t("setup.step.wrong") : t("setup.step.done")})
                </span>
              )}
            </>
          );
          return (
            <li key={step} class={state}>
              {seen ? (
                <a href={linkTo(step)} aria-current={step === now ? "step" : undefined}>
                  {name}
                </a>
              ) : (
                <span>{name}</span>
              )}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

/** After a reload: secrets have to be typed again. */
function Forgotten() {
  const { forgotten } = useStore(wizard);
  if (forgotten.length === 0) return null;
  const name = (path: string) => {
    if (path === "router.password") return t("router.password");
    if (path.startsWith("internet.")) return `${t("step.internet")}: ${t("internet.password")}`;
    if (path.startsWith("mesh.")) return `${t("services.mesh")}: ${t("wifi.key")}`;
    if (path.startsWith("wifi.")) return `${t("step.wifi")}: ${t("wifi.key")}`;
    return path;
  };
  return (
    <Notice kind="info">
      <p>{t("setup.forgotten")}</p>
      <ul class="plain-list">
        {[...new Set(forgotten.map(name))].map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Notice>
  );
}

/** Discards the draft after a confirmation. */
function Anew() {
  const { forgotten, touched } = useStore(wizard);
  const [sure, setSure] = useState(false);
  if (forgotten.length === 0 && touched.length === 0) return null;
  return sure ? (
    <div role="group" aria-label={t("setup.anew.sure")} class="anew buttons">
      <p>{t("setup.anew.sure")}</p>
      <button
        type="button"
        class="button"
        onClick={() => {
          void anew();
          go("language");
        }}
      >
        {t("setup.yes")}
      </button>
      <button type="button" class="button" onClick={() => setSure(false)}>
        {t("setup.no")}
      </button>
    </div>
  ) : (
    <p class="anew">
      <button type="button" class="button quiet" onClick={() => setSure(true)}>
        {t("setup.anew")}
      </button>
    </p>
  );
}
