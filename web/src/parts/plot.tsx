// Frame of every drawing of rates over time, by uPlot. For a screen reader the drawing is a picture
// with a summary as its name; arrow keys read single points.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useStore } from "../core/store";
import { colours } from "../shell/preferences";
import { format, language, t } from "../text";

/** Shortest and longest time span of the line, in seconds. */
const SHORTEST = 120;
const LONGEST = 600;

/**
 * A colour of the style sheet for a canvas; `hundredths` is its opacity.
 */
export function colour(name: string, hundredths = 100): string {
  const probe = document.createElement("span");
  probe.style.color = `color-mix(in srgb, var(${name}) ${hundredths}%, transparent)`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function range(times: readonly number[]): [number, number] {
  const last = times.at(-1) ?? 0;
  const first = Math.max(times[0] ?? last, last - LONGEST);
  return [Math.min(first, last - SHORTEST), last];
}

function make(
  room: HTMLElement,
  height: number,
  drawn: Pick<uPlot.Options, "series" | "bands">,
  onCursor: (index: number | null) => void,
): uPlot {
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis: uPlot.Axis = {
    stroke: colour("--muted"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const options: uPlot.Options = {
    width: Math.max(room.clientWidth, 100),
    height,
    padding: [8, 6, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 8 } },
    scales: {
      x: { time: true },
      // From zero, and to a little more than zero even without traffic.
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
    hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)] },
    ...drawn,
  };
  return new uPlot(options, [[], ...drawn.series.slice(1).map(() => [])], room);
}

/** Number of samples in a minute: with fewer, the chart explains why. */
const FEW = 30;

export function Plot(props: {
  label: string;
  /** Times, and the values of each line. */
  data: [number[], ...(number | null)[][]];
  /** The lines: `series` for uPlot, and the fills between them. */
  draw: () => Pick<uPlot.Options, "series" | "bands">;
  /** Text of a point; null if the point has none. */
  point: (index: number) => string | null;
  height?: number;
}) {
  const { label, data, draw, point, height = 210 } = props;
  const room = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const look = useStore(colours);
  const tongue = useStore(language);
  const [at, setAt] = useState<number | null>(null);
  // Announced only after keys: a mouse moves too fast.
  const [spoken, speak] = useState("");

  // Another colour or language needs a new canvas.
  useEffect(() => {
    const place = room.current;
    if (place === null) return;
    const made = make(place, height, draw(), setAt);
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

  const [times] = data;
  // A new canvas is empty.
  useEffect(() => {
    const made = plot.current;
    if (made === null || times.length === 0) return;
    made.setData(data, false);
    const [min, max] = range(times);
    made.setScale("x", { min, max });
  }, [data, look, tongue, height]);

  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    const made = plot.current;
    if (step === 0 || made === null || times.length === 0) return;
    event.preventDefault();
    const index = Math.min(
      Math.max((at ?? times.length - 1) + (at === null ? 0 : step), 0),
      times.length - 1,
    );
    made.setCursor({ left: made.valToPos(times[index] ?? 0, "x"), top: 10 });
    speak(point(index) ?? "");
  };
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
        {(at === null ? null : point(at)) ?? (times.length < FEW ? t("chart.waiting") : "\u00a0")}
      </p>
      <p class="hidden" aria-live="polite">
        {spoken}
      </p>
    </div>
  );
}
