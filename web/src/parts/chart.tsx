// Download and upload over time.
import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { columns, type Sample } from "../core/series";
import { format, t } from "../text";
import { colour, Plot } from "./plot";

function draw(): Pick<uPlot.Options, "series"> {
  const line = (name: string, fill: string, dash: number[]): uPlot.Series => ({
    stroke: colour(name),
    fill: colour(fill),
    width: 2,
    dash,
    points: { show: false },
    spanGaps: false,
  });
  return { series: [{}, line("--down", "--down-fill", []), line("--up", "--up-fill", [6, 3])] };
}

export function Chart({
  name,
  series,
  height = 210,
}: {
  name: string;
  series: Sample[];
  height?: number;
}) {
  const f = format();
  const data = useMemo(() => columns(series), [series]);
  const last = series.at(-1);
  const first = series[0];
  const point = (index: number) => {
    const [time, down, up] = [data[0][index], data[1][index], data[2][index]];
    if (time == null || down == null || up == null) return null;
    return t("chart.point", { time: f.clock(time), down: f.rate(down), up: f.rate(up) });
  };
  const label = t("chart.label", {
    name,
    down: f.rate(last?.down ?? 0),
    up: f.rate(last?.up ?? 0),
    span: f.span(Math.max(60, (last?.time ?? 0) - (first?.time ?? 0))),
    peak_down: f.rate(Math.max(0, ...series.map((sample) => sample.down))),
    peak_up: f.rate(Math.max(0, ...series.map((sample) => sample.up))),
  });
  return <Plot label={label} data={data} draw={draw} point={point} height={height} />;
}

/** Current rates in large figures, which are also the legend of the chart. */
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
