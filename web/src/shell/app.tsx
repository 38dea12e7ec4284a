// The frame around every view: login or navigation, and the focus.
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, logOut, refreshSession, session } from "../api/client";
import { keepLooking, live } from "../api/live";
import { formatRoute } from "../core/route";
import { useStore } from "../core/store";
import { type Module, moduleOf, viewOf } from "../module";
import { Notice, Title } from "../parts/basic";
import { FailureNotice, Guard } from "../parts/failure";
import { language, speaks, t } from "../text";
import { LanguageChoice, ThemeChoice } from "./choices";
import { Brand, LogOutIcon, MenuIcon } from "./icons";
import { LogIn } from "./login";
import { route } from "./router";

/** Interval of requests of a page without a session, ms. */
const AGAIN = 5000;

type Modules = { modules: readonly Module[] };

export function App({ modules }: Modules) {
  // A new language redraws everything.
  useStore(language);
  const who = useStore(session);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [tries, setTries] = useState(0);
  // `tries` triggers a request: by the reader, or after a while by the page itself, because a
  // restarted router comes back.
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    refreshSession().then(
      () => setFailure(null),
      (error) => {
        setFailure(error instanceof Failure ? error : new Failure(0, "", ""));
        timer = setTimeout(() => setTries(tries + 1), AGAIN);
      },
    );
    return () => clearTimeout(timer);
  }, [tries]);
  const user = who?.user === true;
  useEffect(() => {
    const looks = modules.flatMap((module) => module.looks ?? []);
    keepLooking(user, looks);
    return () => keepLooking(false, looks);
  }, [user]);
  if (who === null) {
    return (
      <main class="alone">
        {failure === null ? (
          <p class="waiting" role="status">
            {t("common.loading")}
          </p>
        ) : (
          <FailureNotice failure={failure} retry={() => setTries(tries + 1)} />
        )}
      </main>
    );
  }
  return user ? (
    <Shell modules={modules} />
  ) : (
    <LogIn first={!who.password_set} local={who.local !== false} />
  );
}

function Shell({ modules }: Modules) {
  const now = useStore(route);
  const main = useRef<HTMLElement>(null);
  const view = viewOf(modules, now.path);
  const module = moduleOf(modules, now.path);
  const place = now.path.join("/");
  const shown = useRef<string | null>(null);
  useEffect(() => {
    // Not when the page opens: the browser's own position is right then.
    if (shown.current !== null && shown.current !== place) {
      window.scrollTo(0, 0);
      (main.current?.querySelector<HTMLElement>("h1") ?? main.current)?.focus({
        preventScroll: true,
      });
    }
    shown.current = place;
  }, [place]);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        {t("nav.skip")}
      </button>
      <Side modules={modules} place={place} />
      <main id="main" ref={main} tabIndex={-1}>
        <Stale />
        {modules.map((one) => one.above && <one.above key={one.id} />)}
        {view === undefined ? (
          <>
            <Title text={t("error.unknown.title")} />
            <p>{t("error.unknown")}</p>
          </>
        ) : (
          <Guard key={place}>
            {module === undefined || speaks(module.id) ? (
              <view.show route={now} />
            ) : (
              <div lang="en" dir="ltr">
                <view.show route={now} />
              </div>
            )}
          </Guard>
        )}
      </main>
    </div>
  );
}

/** Warns that the data is old while the router does not answer. */
function Stale() {
  const { devices, failure } = useStore(live);
  if (failure === null || devices === null) return null;
  return (
    <div role="status" class="stale">
      <Notice kind="warn">
        {failure.status === 0
          ? t("error.stale")
          : failure.detail || t("error.status", { status: failure.status })}
      </Notice>
    </div>
  );
}

function Side({ modules, place }: Modules & { place: string }) {
  const [open, setOpen] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const now = useStore(live);
  const offered = modules
    .map((module) => ({
      ...module,
      views: module.views.filter((view) => view.offered?.(now) !== false),
    }))
    .filter((module) => module.views.length > 0);
  // Closes on a change of view.
  useEffect(() => setOpen(false), [place]);
  const first = place.split("/")[0] ?? "";
  const leave = () => {
    logOut().catch((error) =>
      setFailure(error instanceof Failure ? error : new Failure(0, "", "")),
    );
  };
  return (
    <header
      class={`side ${open ? "open" : ""}`}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        setOpen(false);
        button.current?.focus();
      }}
    >
      <div class="side-top">
        <a class="brand" href="#/">
          <Brand />
          <span>weir</span>
        </a>
        <button
          ref={button}
          type="button"
          class="button menu"
          aria-expanded={open}
          aria-controls="nav"
          onClick={() => setOpen(!open)}
        >
          <MenuIcon />
          {t("nav.menu")}
        </button>
      </div>
      <div id="nav" class="side-body">
        <nav aria-label={t("nav.label")}>
          {offered.map((module) => (
            <div class="nav-group" key={module.id}>
              <p id={`nav-${module.id}`}>{module.title()}</p>
              <ul aria-labelledby={`nav-${module.id}`}>
                {module.views.map((view) => (
                  <li key={view.id}>
                    <a
                      href={formatRoute(view.id === "" ? [] : [view.id])}
                      aria-current={view.id === first ? "page" : undefined}
                    >
                      <view.icon />
                      {view.title()}
                    </a>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <div class="side-foot">
          <LanguageChoice id="language" />
          <ThemeChoice id="theme" />
          {failure !== null && <FailureNotice failure={failure} />}
          <button type="button" class="button" onClick={leave}>
            <LogOutIcon />
            {t("login.out")}
          </button>
        </div>
      </div>
    </header>
  );
}
