// The device's sockets, in a row: one of them is selected.
import { plain } from "@/core/plain";
import { Name } from "@/parts/basic";
import { WarnIcon } from "@/shell/icons";
import { format } from "@/text";
import { shown, shut, sure } from "./core/ports";
import { ICONS, ShutIcon } from "./icons";
import { plural, t } from "./text";
import type { Cable } from "./types";

export function Sockets(props: {
  cables: readonly Cable[];
  chosen: string | null;
  choose: (device: string) => void;
}) {
  return (
    <fieldset class="sockets">
      <legend>{t("cables.choose")}</legend>
      <div class="socket-row">
        {props.cables.map((cable) => (
          <label key={cable.device} class={`socket role-${shown(cable)}`}>
            <input
              type="radio"
              name="port"
              value={plain(cable.device)}
              checked={cable.device === props.chosen}
              onChange={() => props.choose(cable.device)}
            />
            <Drawn link={cable.link} shut={shut(cable) !== null} />
            <strong>
              <Name text={cable.device} />
            </strong>
            <What cable={cable} />
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Role of a port in words, each with its icon. */
function What({ cable }: { cable: Cable }) {
  const what = shown(cable);
  const Icon = ICONS[what];
  const certain = sure(cable);
  const many = cable.notices.length;
  return (
    <>
      <span class="socket-role">
        <Icon />
        <span>{t(`role.${what}`)}</span>
      </span>
      {certain !== null && (
        <span class="small muted">{t("cables.sure", { share: format().share(certain) })}</span>
      )}
      {shut(cable) !== null && (
        <span class="socket-shut small">
          <ShutIcon />
          <span>{t("cables.shut")}</span>
        </span>
      )}
      {cable.held_by !== null && <span class="small muted">{t("cables.kept.short")}</span>}
      {!cable.link && what !== "none" && <span class="small muted">{t("role.none")}</span>}
      {many > 0 && (
        <span class="socket-warns small">
          <WarnIcon />
          <span>{plural("cables.warnings", many)}</span>
        </span>
      )}
    </>
  );
}

/** A socket, with a plug if there is a link, and a bar across if nothing passes. */
function Drawn({ link, shut }: { link: boolean; shut: boolean }) {
  return (
    <svg class="socket-drawn" viewBox="0 0 72 72" aria-hidden="true" focusable="false">
      <rect class="socket-case" x="1" y="1" width="70" height="60" rx="6" />
      <path class="socket-hole" d="M12 12h48v30h-10v6h-6v5h-16v-5h-6v-6h-10z" />
      <path
        class="socket-pins"
        d="M19.500 12v6M24.500 12v6M29.500 12v6M34.500 12v6M39.500 12v6M44.500 12v6M49.500 12v6"
      />
      {link && <path class="socket-plug" d="M16 20h40v20h-9v7h-5v25h-12v-25h-5v-7h-9z" />}
      {shut && <rect class="socket-bar" x="20" y="60" width="32" height="9" rx="2" />}
      <circle class={link ? "socket-light on" : "socket-light"} cx="64.500" cy="8" r="2.800" />
    </svg>
  );
}
