// The router's location: on a grid of degrees with rough coasts, so that no map service is needed;
// or in numbers; or from the browser.
import { useState } from "preact/hooks";
import { useStore } from "@/core/store";
import { Notice } from "@/parts/basic";
import { DEFAULTS } from "../core/form";
import {
  drawn,
  HEIGHT,
  LAND,
  moved,
  type Place,
  pointed,
  read,
  WIDTH,
  written,
} from "../core/place";
import { Text } from "../parts/fields";
import { idOf, useProblem, Wrong } from "../parts/problem";
import { change, wizard } from "../store";
import { t } from "../text";

const GRID = [
  ...Array.from({ length: 11 }, (_, at) => `M${(at + 1) * 60} 0V${HEIGHT}`),
  ...Array.from({ length: 5 }, (_, at) => `M0 ${(at + 1) * 60}H${WIDTH}`),
].join("");

/** Start of the arrow keys if there is no location yet. */
const MIDDLE: Place = { north: 0, east: 0 };

export function PlaceGroup() {
  const { form } = useStore(wizard);
  const [failed, setFailed] = useState(false);
  const router = form.router ?? DEFAULTS.router;
  const [north = "", east = ""] = router.place ?? [];
  const place = read(router.place);
  const problem = useProblem("router.place");
  const set = (to: [string, string]) =>
    change({ router: { ...router, place: to } }, "router.place");
  const put = (to: Place) => set(written(to));
  const mine = () => {
    setFailed(false);
    if (navigator.geolocation === undefined) return setFailed(true);
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => put({ north: coords.latitude, east: coords.longitude }),
      () => setFailed(true),
    );
  };
  const shown =
    place === null ? t("place.none") : t("place.at", { north: north.trim(), east: east.trim() });
  return (
    <>
      <p class="hint">{t("place.text")}</p>
      <WorldMap place={place} shown={shown} put={put} />
      <p class="hint" aria-live="polite">
        {shown}
      </p>
      <div class="pair">
        <Text
          path="router.place[0]"
          label={t("place.north")}
          hint={t("place.north.hint")}
          machine
          value={north}
          set={(to) => set([to, east])}
        />
        <Text
          path="router.place[1]"
          label={t("place.east")}
          hint={t("place.east.hint")}
          machine
          value={east}
          set={(to) => set([north, to])}
        />
      </div>
      <Wrong id={idOf("router.place")} problem={problem} />
      <p class="buttons">
        <button type="button" class="button" onClick={mine}>
          {t("place.mine")}
        </button>
        {router.place !== undefined && (
          <button type="button" class="button" onClick={() => set(["", ""])}>
            {t("place.forget")}
          </button>
        )}
      </p>
      <div aria-live="polite">{failed && <Notice kind="warn">{t("place.failed")}</Notice>}</div>
    </>
  );
}

function WorldMap(props: { place: Place | null; shown: string; put: (to: Place) => void }) {
  const { place, shown, put } = props;
  const at = place === null ? null : drawn(place);
  return (
    <div
      class="world"
      role="application"
      tabIndex={0}
      aria-label={t("place.map", { place: shown })}
      onKeyDown={(event) => {
        const to = moved(place ?? MIDDLE, event.key, event.shiftKey);
        if (to === null) return;
        event.preventDefault();
        put(to);
      }}
      onClick={(event) => {
        const room = event.currentTarget.getBoundingClientRect();
        put(
          pointed(
            (event.clientX - room.left) / room.width,
            (event.clientY - room.top) / room.height,
          ),
        );
      }}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" focusable="false">
        <path class="world-land" d={LAND} />
        <path class="world-grid" d={GRID} />
        {at !== null && (
          <>
            <path class="world-cross" d={`M${at.x} 0V${HEIGHT}M0 ${at.y}H${WIDTH}`} />
            <circle class="world-point" cx={at.x} cy={at.y} r="7" />
          </>
        )}
      </svg>
    </div>
  );
}
