// Content of the guests' page: its title, its text with a preview, and the community's picture.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { send } from "@/api/client";
import { useResource } from "@/api/poller";
import { Card, Field, Notice, Title } from "@/parts/basic";
import { FailureNotice, Waiting } from "@/parts/failure";
import { format, language } from "@/text";
import { base64, LONGEST_PICTURE, LONGEST_TEXT, octets } from "./core/welcome";
import { t } from "./text";
import type { PortalPage } from "./types";

/** Interval of polls, ms: the page changes by users' actions. */
const EVERY = 10_000;
/** Pause after typing before a request, ms. */
const PAUSE = 500;

export function WelcomeView() {
  const { data, failure, retry } = useResource<PortalPage>("portal/page", {}, EVERY);
  return (
    <>
      <Title text={t("view.welcome")} />
      {data === null ? (
        <Waiting failure={failure} retry={retry} />
      ) : (
        <Editor page={data} changed={retry} />
      )}
    </>
  );
}

interface Words {
  title: string;
  text: string;
}

const same = (one: Words, other: Words) => one.title === other.title && one.text === other.text;

function Editor({ page, changed }: { page: PortalPage; changed: () => void }) {
  const told = { title: page.title, text: page.text };
  const [words, setWords] = useState<Words>(told);
  // The router's text when editing began.
  const [base, setBase] = useState<Words>(told);
  const saving = useAction<PortalPage>();
  const take = ({ title, text }: Words) => {
    setWords({ title, text });
    setBase({ title, text });
  };
  const untouched = same(words, base);
  // Another user changed the text: typed text stays.
  useEffect(() => {
    if (untouched) take(told);
  }, [told.title, told.text]);
  const run = async (path: string, body: unknown) => {
    const done = await saving.run(() => send<PortalPage>(path, body));
    if (done === null) return;
    take(done);
    changed();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    return run("portal/page/text", words);
  };
  const f = format();
  return (
    <div class="grid">
      <Card title={t("welcome.words")} wide={6}>
        <form class="form welcome" onSubmit={submit}>
          <Field
            id="welcome-title"
            label={t("welcome.title")}
            value={words.title}
            set={(title) => setWords({ ...words, title })}
          />
          <div class="field">
            <label for="welcome-text">{t("welcome.text")}</label>
            <textarea
              id="welcome-text"
              rows={14}
              value={words.text}
              aria-describedby="welcome-room"
              onInput={(event) => setWords({ ...words, text: event.currentTarget.value })}
            />
            <p class="hint" id="welcome-room">
              {t("welcome.room", {
                used: f.count(octets(words.text)),
                all: f.count(LONGEST_TEXT),
              })}
            </p>
          </div>
          <p class="buttons">
            <button type="submit" class="button primary" aria-disabled={saving.busy}>
              {t("welcome.save")}
            </button>
            {page.edited && (
              <button
                type="button"
                class="button"
                aria-disabled={saving.busy}
                onClick={() => run("portal/page/text/reset", {})}
              >
                {t("welcome.reset")}
              </button>
            )}
          </p>
          <div aria-live="polite">
            {saving.done !== null && untouched && <Notice kind="good">{t("welcome.saved")}</Notice>}
            {saving.failure !== null && <FailureNotice failure={saving.failure} />}
            {!untouched && !same(told, base) && (
              <Notice kind="warn">
                <p>{t("welcome.changed")}</p>
                <button type="button" class="button" onClick={() => take(told)}>
                  {t("welcome.take")}
                </button>
              </Notice>
            )}
          </div>
          {!page.edited && <p class="hint">{t("welcome.configured")}</p>}
        </form>
      </Card>
      <div class="column span-6">
        <Card title={t("welcome.preview")}>
          <Preview words={words} picture={page.picture?.version ?? 0} />
        </Card>
        <Card title={t("welcome.picture")}>
          <Picture page={page} changed={changed} />
        </Card>
      </div>
    </div>
  );
}

/** The router's drawing, as for guests: a separate page, without scripts or forms. */
function Preview({ words, picture }: { words: Words; picture: number }) {
  const [number, setNumber] = useState<number | null>(null);
  // The shown page stays until the next one has loaded.
  const [seen, setSeen] = useState<number | null>(null);
  const drawing = useAction<{ number: number }>();
  const { title, text } = words;
  const languages = language.get();
  useEffect(() => {
    const timer = setTimeout(async () => {
      const body = { title, text, languages };
      const drawn = await drawing.run(() => send("portal/page/preview", body));
      if (drawn !== null) setNumber(drawn.number);
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [title, text, picture, languages]);
  return (
    <>
      {drawing.failure !== null && <FailureNotice failure={drawing.failure} />}
      <div class="previews">
        {[...new Set([seen, number])]
          .filter((one) => one !== null)
          .map((one) => (
            <iframe
              key={one}
              class={seen === null || one === seen ? "preview" : "preview-next"}
              title={t("welcome.preview")}
              sandbox=""
              src={`/api/v1/portal/page/preview/${one}`}
              aria-hidden={seen !== null && one !== seen}
              tabIndex={seen !== null && one !== seen ? -1 : 0}
              onLoad={() => setSeen(one)}
            />
          ))}
      </div>
    </>
  );
}

function Picture({ page, changed }: { page: PortalPage; changed: () => void }) {
  const changing = useAction<PortalPage>();
  const [large, setLarge] = useState<number | null>(null);
  const f = format();
  const run = async (path: string, body: () => Promise<unknown>) => {
    const done = await changing.run(async () => send<PortalPage>(path, await body()));
    if (done === null) return;
    changed();
  };
  const choose = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file === undefined) return;
    setLarge(file.size > LONGEST_PICTURE ? file.size : null);
    if (file.size > LONGEST_PICTURE) return;
    await run("portal/page/picture", async () => ({
      picture: base64(new Uint8Array(await file.arrayBuffer())),
    }));
    input.value = "";
  };
  const { picture } = page;
  return (
    <div class="form">
      {picture === null ? (
        <p class="muted">{t("welcome.picture.none")}</p>
      ) : (
        <figure class="welcome-picture">
          <img
            src={`/api/v1/portal/page/picture?version=${picture.version}`}
            alt={t("welcome.picture.alt")}
          />
          <figcaption class="hint">
            {t("welcome.picture.now", {
              width: f.count(picture.width),
              height: f.count(picture.height),
              bytes: f.bytes(picture.bytes),
            })}
          </figcaption>
        </figure>
      )}
      <div class="field">
        <label for="welcome-picture">{t("welcome.picture.file")}</label>
        <input
          id="welcome-picture"
          type="file"
          accept="image/png,image/jpeg,image/webp"
          aria-invalid={large !== null}
          aria-describedby={large === null ? undefined : "welcome-picture-wrong"}
          onChange={(event) => choose(event.currentTarget)}
        />
        {large !== null && (
          <p class="hint" id="welcome-picture-wrong" role="alert">
            {t("welcome.picture.large", { bytes: f.count(large), all: f.count(LONGEST_PICTURE) })}
          </p>
        )}
      </div>
      {changing.failure !== null && <FailureNotice failure={changing.failure} />}
      {picture !== null && (
        <p>
          <button
            type="button"
            class="button"
            aria-disabled={changing.busy}
            onClick={() => run("portal/page/picture/remove", async () => ({}))}
          >
            {t("welcome.picture.remove")}
          </button>
        </p>
      )}
    </div>
  );
}
