// Rates over time, drawn by uPlot. It is a picture to a screen reader, with its gist as a name; arrow keys read single points.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { columns, type Sample } from "../core/series";
import { useStore } from "../core/store";
import { colours } from "../shell/preferences";
import { format, language, t } from "../text";

/** Seconds that the line spans at least and at most. */
const SHORTEST = 120;
const LONGEST = 600;

/** A colour of the style sheet, as a canvas takes it. */
function colour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function range(series: readonly Sample[]): [number, number] {
  const last = series.at(-1)?.time ?? 0;
  const first = Math.max(series[0]?.time ?? last, last - LONGEST);
  return [Math.min(first, last - SHORTEST), last];
}

function make(room: HTMLElement, height: number, onCursor: (index: number | null) => void): uPlot {
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis: uPlot.Axis = {
    stroke: colour("--muted"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const line = (name: string, fill: string, dash: number[]): uPlot.Series => ({
    stroke: colour(name),
    fill: colour(fill),
    width: 2,
    dash,
    points: { show: false },
    spanGaps: false,
  });
  const options: uPlot.Options = {
    width: Math.max(room.clientWidth, 100),
    height,
    padding: [8, 6, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 8 } },
    scales: {
      x: { time: true },
      // From nothing, and to a little more than nothing even where all is still.
      y: { range: (_, __, highest) => [0, Math.max(highest ?? 0, 10_000) * 1.08] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        space: 90,
        values: (_, ticks) => ticks.map((time) => format().clock(time)),
      },
      {
        ...axis,
        size: 84,
        space: 36,
        values: (_, ticks) => ticks.map((rate) => (rate === 0 ? "0" : format().roundRate(rate))),
      },
    ],
    series: [{}, line("--down", "--down-fill", []), line("--up", "--up-fill", [6, 3])],
    hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)] },
  };
  return new uPlot(options, [[], [], []], room);
}

export function Chart({ name, series, height = 210 }: { name: string; series: Sample[]; height?: number }) {
  const room = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const look = useStore(colours);
  const tongue = useStore(language);
  const [at, setAt] = useState<number | null>(null);
  // Said aloud only where keys moved it: a mouse moves too fast.
  const [spoken, speak] = useState("");

  // A canvas has to be made anew for other colours and another language.
  useEffect(() => {
    const place = room.current;
    if (place === null) return;
    const made = make(place, height, setAt);
    plot.current = made;
    const watcher = new ResizeObserver(() =>
      made.setSize({ width: Math.max(place.clientWidth, 100), height }),
    );
    watcher.observe(place);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [look, tongue, height]);

  // A canvas made anew is empty.
  useEffect(() => {
    const made = plot.current;
    if (made === null || series.length === 0) return;
    made.setData(columns(series), false);
    const [min, max] = range(series);
    made.setScale("x", { min, max });
  }, [series, look, tongue, height]);

  const f = format();
  const last = series.at(-1);
  const data = columns(series);
  const down = at === null ? null : data[1][at];
  const up = at === null ? null : data[2][at];
  const point = (index: number) =>
    t("chart.point", {
      time: f.clock(data[0][index] ?? 0),
      down: f.rate(data[1][index] ?? 0),
      up: f.rate(data[2][index] ?? 0),
    });
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    const made = plot.current;
    if (step === 0 || made === null || data[0].length === 0) return;
    event.preventDefault();
    const index = Math.min(
      Math.max((at ?? data[0].length - 1) + (at === null ? 0 : step), 0),
      data[0].length - 1,
    );
    made.setCursor({ left: made.valToPos(data[0][index] ?? 0, "x"), top: 10 });
    speak(point(index));
  };
  const first = series[0];
  const label = t("chart.label", {
    name,
    down: f.rate(last?.down ?? 0),
    up: f.rate(last?.up ?? 0),
    span: f.span(Math.max(60, (last?.time ?? 0) - (first?.time ?? 0))),
    peak_down: f.rate(Math.max(0, ...series.map((sample) => sample.down))),
    peak_up: f.rate(Math.max(0, ...series.map((sample) => sample.up))),
  });
  return (
    <div class="chart">
      <div
        ref={room}
        class="chart-room"
        role="img"
        aria-label={label}
        aria-description={t("chart.keys")}
        tabIndex={0}
        onKeyDown={onKey}
      />
      <p class="readout" aria-hidden="true">
        {at !== null && down !== undefined && down !== null && up !== undefined && up !== null
          ? point(at)
          : series.length < 5
            ? t("chart.waiting")
            : "\u00a0"}
      </p>
      <p class="hidden" aria-live="polite">
        {spoken}
      </p>
    </div>
  );
}

/** The rates of now in large figures, which are the legend of the chart too. */
export function Now({ down, up, series }: { down: number; up: number; series: Sample[] }) {
  const f = format();
  const peaks = [
    {
      kind: "down",
      title: t("common.download"),
      now: down,
      peak: Math.max(down, ...series.map((sample) => sample.down)),
    },
    {
      kind: "up",
      title: t("common.upload"),
      now: up,
      peak: Math.max(up, ...series.map((sample) => sample.up)),
    },
  ];
  return (
    <div class="now">
      {peaks.map(({ kind, title, now, peak }) => (
        <div key={kind}>
          <p class="now-title">
            <span class={`key ${kind}`} aria-hidden="true" />
            {title}
          </p>
          <p class="now-value">{f.rate(now)}</p>
          <p class="muted small">{t("chart.peak", { value: f.rate(peak) })}</p>
        </div>
      ))}
    </div>
  );
}
