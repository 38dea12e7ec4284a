// Power, throughput and rates of an access point over time. A picture to a screen reader; arrow
// keys read single steps, and a table has them all.
import { useEffect, useRef, useState } from "preact/hooks";
import { plain } from "@/core/plain";
import { scale } from "@/core/scale";
import { Card } from "@/parts/basic";
import { format } from "@/text";
import { highest, lines, nearest, type Point, points, SPAN } from "./core/steps";
import { dbm, rate } from "./figures";
import { Steps } from "./steps";
import { t, word } from "./text";
import type { RadioSteps } from "./types";

const LEFT = 78;
const RIGHT = 8;
/** Space above and below the lines of a panel, px. */
const TOP = 28;
const HIGH = 84;
const PANEL = TOP + HIGH + 6;
const BOTTOM = 22;
const HEIGHT = 3 * PANEL + BOTTOM;

export function PictureCard(props: { device: string; watched: boolean; steps: RadioSteps | null }) {
  const { device, watched, steps } = props;
  const all = steps === null ? [] : points(steps);
  return (
    <Card
      title={t("radio.picture", { device: plain(device), span: format().span(SPAN) })}
      class="radio-picture"
    >
      {watched ? (
        <p class="nothing">{t("radio.picture.watch")}</p>
      ) : all.length === 0 ? (
        <p class="nothing">{t("radio.picture.none")}</p>
      ) : (
        <>
          <Picture device={device} all={all} />
          <Legend />
          <Steps device={device} all={all} />
        </>
      )}
    </Card>
  );
}

function Legend() {
  return (
    <ul class="legend">
      <li>
        <svg class="radio-sign" viewBox="0 0 12 12" aria-hidden="true">
          <circle cx="6" cy="6" r="4" class="radio-throughput" />
        </svg>
        {t("radio.throughput")}
      </li>
      <li>
        <svg class="radio-sign" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M1 6h10" class="radio-reference" />
        </svg>
        {t("radio.key.most")}
      </li>
      <li>
        <svg class="radio-sign" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M6 1.500 11 10.500H1z" class="radio-telling" />
        </svg>
        {t("radio.key.telling")}
      </li>
    </ul>
  );
}

/** Describes a step in a sentence. */
function said(point: Point): string {
  const { throughput_mbit, reference_mbit, rate_mbit } = point;
  const first = t("radio.point", {
    time: format().seconds(point.ago),
    power: dbm(point.power_dbm),
    reason: word("reason", plain(point.reason)),
  });
  return [
    first,
    throughput_mbit !== null && t("radio.point.throughput", { rate: rate(throughput_mbit) }),
    reference_mbit !== null && t("radio.point.reference", { rate: rate(reference_mbit) }),
    rate_mbit !== null && t("radio.point.rate", { rate: rate(rate_mbit) }),
    point.station !== null && plain(point.station),
  ]
    .filter((part) => part !== false)
    .join(" · ");
}

function Picture({ device, all }: { device: string; all: readonly Point[] }) {
  const room = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  // Key of the step being read: steps move on.
  const [at, setAt] = useState<string | null>(null);
  const [spoken, speak] = useState("");
  useEffect(() => {
    const place = room.current;
    if (place === null) return;
    const measure = () => setWidth(Math.max(place.clientWidth, 240));
    const watcher = new ResizeObserver(measure);
    watcher.observe(place);
    measure();
    return () => watcher.disconnect();
  }, []);
  const inner = width - LEFT - RIGHT;
  const x = (ago: number) => width - RIGHT - (ago / SPAN) * inner;
  const found = all.findIndex(({ key }) => key === at);
  const chosen = found < 0 ? null : found;
  const read = chosen === null ? undefined : all[chosen];
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") return setAt(null);
    const last = all.length - 1;
    const from = chosen ?? last + 1;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key];
    const point = to === undefined ? undefined : all[Math.min(Math.max(to, 0), last)];
    if (point === undefined) return;
    event.preventDefault();
    setAt(point.key);
    speak(said(point));
  };
  const onMove = (event: MouseEvent) => {
    const box = room.current?.getBoundingClientRect();
    if (box === undefined) return;
    const index = nearest(all, ((box.left + width - RIGHT - event.clientX) / inner) * SPAN);
    setAt(index === null ? null : (all[index]?.key ?? null));
  };
  const powers = all.map(({ power_dbm }) => power_dbm);
  const label = t("radio.picture.label", {
    device: plain(device),
    span: format().span(SPAN),
    power: dbm(powers.at(-1) ?? null),
    low: dbm(Math.min(...powers)),
    high: dbm(Math.max(...powers)),
    throughput: rate(highest(all.map(({ throughput_mbit }) => throughput_mbit))),
  });
  return (
    <div class="chart">
      <div
        ref={room}
        class="chart-room radio-room"
        role="img"
        aria-label={label}
        aria-description={t("chart.keys")}
        tabIndex={0}
        onKeyDown={onKey}
        onMouseMove={onMove}
        onMouseLeave={() => setAt(null)}
      >
        <svg width={width} height={HEIGHT} aria-hidden="true" focusable="false">
          <Lines all={all} width={width} x={x} />
          {read !== undefined && (
            <line x1={x(read.ago)} x2={x(read.ago)} y1={TOP} y2={HEIGHT - BOTTOM} class="at" />
          )}
        </svg>
      </div>
      <p class="readout" aria-hidden="true">
        {read === undefined ? "\u00a0" : said(read)}
      </p>
      <p class="hidden" aria-live="polite">
        {spoken}
      </p>
    </div>
  );
}

function Lines(props: { all: readonly Point[]; width: number; x: (ago: number) => number }) {
  const { all, width, x } = props;
  const f = format();
  const megabits = (value: number) => (value === 0 ? "0" : f.roundRate(value * 1e6));
  const powers = panel(0, highest(all.map(({ power_dbm }) => power_dbm)));
  const throughput = panel(
    1,
    highest(
      all.flatMap(({ throughput_mbit, reference_mbit }) => [throughput_mbit, reference_mbit]),
    ),
  );
  const rates = panel(2, highest(all.map(({ rate_mbit }) => rate_mbit)));
  const right = x(0);
  // A power holds until the next.
  const drawn = lines(all).map((steps) => {
    const [first, ...rest] = steps.map(
      (point) => [x(point.ago), powers.y(point.power_dbm)] as const,
    );
    const more = rest.map(([to, y]) => `H${to}V${y}`).join("");
    return first === undefined ? "" : `M${first[0]} ${first[1]}${more}H${right}`;
  });
  // As many times as fit.
  const times = width < 480 ? [SPAN, 0] : [SPAN, SPAN / 2, 0];
  return (
    <>
      <Axis panel={powers} width={width} title={t("radio.panel.power")} name={(it) => f.dbm(it)} />
      <Axis panel={throughput} width={width} title={t("radio.panel.throughput")} name={megabits} />
      <Axis panel={rates} width={width} title={t("radio.panel.rate")} name={megabits} />
      {times.map((ago) => (
        <text
          key={ago}
          x={x(ago)}
          y={HEIGHT - 6}
          text-anchor={ago === 0 ? "end" : ago === SPAN ? "start" : "middle"}
        >
          {f.ago(ago)}
        </text>
      ))}
      <path d={drawn.join("")} class="radio-line" />
      {all.map((point) => {
        const place = x(point.ago);
        return (
          <g key={point.key}>
            {point.telling && (
              <path
                d={`M${place} ${powers.y(point.power_dbm) - 5}l5 9h-10z`}
                class="radio-telling"
              />
            )}
            {point.reference_mbit !== null && (
              <path
                d={`M${place - 5} ${throughput.y(point.reference_mbit)}h10`}
                class="radio-reference"
              />
            )}
            {point.throughput_mbit !== null && (
              <circle
                cx={place}
                cy={throughput.y(point.throughput_mbit)}
                r="3"
                class="radio-throughput"
              />
            )}
            {point.rate_mbit !== null && (
              <rect
                x={place - 3}
                y={rates.y(point.rate_mbit) - 3}
                width="6"
                height="6"
                class="radio-rate"
              />
            )}
          </g>
        );
      })}
    </>
  );
}

interface Panel {
  top: number;
  steps: readonly number[];
  y: (value: number) => number;
}

/** A panel of the three, for values from zero up. */
function panel(index: number, most: number): Panel {
  const { top, steps } = scale(most);
  const from = index * PANEL + TOP;
  const y = (value: number) => from + HIGH - (Math.max(value, 0) / top) * HIGH;
  return { top: from, steps: steps.length > 4 ? steps.filter((_, at) => at % 2 === 0) : steps, y };
}

function Axis(props: {
  panel: Panel;
  width: number;
  title: string;
  name: (value: number) => string;
}) {
  const { panel: of, width, title, name } = props;
  return (
    <g>
      <text x={0} y={of.top - 14} class="radio-title">
        {title}
      </text>
      {of.steps.map((step) => (
        <g key={step}>
          <line x1={LEFT} x2={width - RIGHT} y1={of.y(step)} y2={of.y(step)} class="grid-line" />
          <text x={LEFT - 8} y={of.y(step) + 4} text-anchor="end">
            {name(step)}
          </text>
        </g>
      ))}
    </g>
  );
}
