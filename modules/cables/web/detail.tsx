// Card of a port: its role, the reasons, the observations, and the user's choice.
import { useState } from "preact/hooks";
import { useAction } from "@/api/action";
import { send } from "@/api/client";
import { plain } from "@/core/plain";
import { Card, Choice, Facts, Meter, Notice } from "@/parts/basic";
import { FailureNotice } from "@/parts/failure";
import { format } from "@/text";
import { CHOICES, heard, likely, moving, shown, shut, suggested, sure } from "./core/ports";
import { ICONS, ShutIcon } from "./icons";
import { Said } from "./said";
import { t, word } from "./text";
import type { Cable } from "./types";

export function Detail({ cable }: { cable: Cable }) {
  const what = shown(cable);
  const Icon = ICONS[what];
  const certain = sure(cable);
  const f = format();
  const { decided, held_by } = cable;
  const closed = shut(cable);
  const where = moving(cable);
  const facts: (readonly [string, string])[] = [];
  if (held_by !== null) facts.push([t("cables.held"), word("cables.held", plain(held_by))]);
  else if (decided !== null && cable.link)
    facts.push([t("cables.decided"), t("cables.after", { time: f.seconds(decided / 1000) })]);
  return (
    <Card title={plain(cable.device)} class={`port role-${what}`}>
      <p class="port-role">
        <Icon />
        <strong>{t(`role.${what}`)}</strong>
        {!cable.link && what !== "none" && <span class="tag">{t("role.none")}</span>}
        {held_by !== null && <span class="tag own">{t("cables.kept.short")}</span>}
      </p>
      <p class="muted">{t(`role.what.${what}`)}</p>
      {closed !== null && (
        <p class="port-shut">
          <ShutIcon />
          <span>
            <strong>{t("cables.shut")}</strong> · {t(`cables.shut.${closed}`)}
          </span>
        </p>
      )}
      {certain !== null && (
        <div class="port-sure">
          <Meter share={certain} />
          <span class="small">{t("cables.sure", { share: f.share(certain) })}</span>
        </div>
      )}
      {cable.notices.map((notice) => (
        <Notice key={notice} kind="warn">
          <Said text={notice} />
        </Notice>
      ))}
      <h3>{t("cables.why")}</h3>
      <p>
        <Said text={cable.why} />
      </p>
      <h3>{t("cables.change")}</h3>
      <p>
        <Said text={cable.change_condition} />
      </p>
      <h3>{t("cables.now")}</h3>
      <p>{word("cables.now", plain(cable.now))}</p>
      {where !== null && (
        <p class="port-moving">
          <Said text={where} />
        </p>
      )}
      {facts.length > 0 && <Facts facts={facts} />}
    </Card>
  );
}

export function HeardCard({ cable }: { cable: Cable }) {
  const all = heard(cable);
  const f = format();
  const role = t(`role.${shown(cable)}`);
  const own = { link: t("cables.heard.link"), decided: t("cables.heard.decided", { role }) };
  return (
    <Card title={t("cables.heard")}>
      {all.length === 0 ? (
        <p class="nothing">{t("cables.heard.none")}</p>
      ) : (
        <>
          <p class="muted small">{t("cables.heard.hint")}</p>
          <ol class="heard">
            {all.map(({ after, what, text }) => (
              <li key={`${what} ${text} ${after}`} class={`at-${what}`}>
                <span class="heard-time">
                  {what === "link" ? f.span(0) : f.seconds(after / 1000)}
                </span>
                <span class="heard-text">
                  {what === "heard" ? <Said text={text ?? ""} /> : own[what]}
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
    </Card>
  );
}

/** Choice of a role by the user. `changed` fetches the ports again. */
export function ChoiceCard(props: { cable: Cable; auto: boolean; changed: () => void }) {
  const { cable, auto, changed } = props;
  const acting = useAction<Cable>();
  // null: no choice yet, so the form follows the detected role.
  const [role, setRole] = useState<string | null>(null);
  const now = role ?? likely(cable);
  const proposal = suggested(cable);
  const held = cable.held_by === "administrator";
  const act = async (what: "set" | "auto", body: object) => {
    const path = `cables/${encodeURIComponent(cable.device)}/${what}`;
    if ((await acting.run(() => send<Cable>(path, body))) !== null) changed();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void act("set", { role: now });
  };
  const { busy, done, failure } = acting;
  // Buttons keep their position, and so does the focus.
  return (
    <Card title={t("cables.choice")}>
      <p class="muted">
        {t("cables.choice.hint")} {t(auto ? "cables.choice.auto" : "cables.choice.suggest")}
      </p>
      <p class="buttons port-buttons">
        <button
          type="button"
          class="button primary port-accept"
          aria-disabled={busy || proposal === null}
          onClick={() => proposal !== null && act("set", { role: proposal })}
        >
          {proposal === null
            ? t("cables.accept")
            : t("cables.accept.role", { role: t(`role.${proposal}`) })}
        </button>
        <button
          type="button"
          class="button port-auto"
          aria-disabled={busy || !held}
          onClick={() => held && act("auto", {})}
        >
          {t("cables.auto")}
        </button>
      </p>
      <form class="port-keep" onSubmit={submit}>
        <Choice
          id="port-role"
          label={t("cables.keep")}
          value={now}
          options={CHOICES.map((one) => [one, t(`role.${one}`)] as const)}
          choose={setRole}
        />
        <button type="submit" class="button" aria-disabled={busy}>
          {t("cables.keep.do")}
        </button>
      </form>
      <div aria-live="polite" class="port-done">
        {done !== null && (
          <Notice kind="good">
            {done.held_by === "administrator"
              ? t("cables.kept", { role: t(`role.${shown(done)}`) })
              : t("cables.released")}
          </Notice>
        )}
        {failure !== null && <FailureNotice failure={failure} />}
      </div>
    </Card>
  );
}
