// Shares of a rate over time: stacked layers.
import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { Sample } from "@/core/series";
import { colour, Plot } from "@/parts/plot";
import { format } from "@/text";
import { layers, thickness } from "./core/paths";
import { t } from "./text";

/** Number of colours (`--part-0` and so on); further layers share the last colour. */
const COLOURS = 7;

/** CSS class with the colour of a layer. */
export const partOf = (index: number): string => (index < COLOURS ? `part-${index}` : "part-rest");

function draw(many: number): Pick<uPlot.Options, "series" | "bands"> {
  const line = (index: number): uPlot.Series => ({
    stroke: colour(`--${partOf(index)}`),
    fill: colour(`--${partOf(index)}`, 45),
    width: 2,
    points: { show: false },
    spanGaps: false,
  });
  // The uppermost first, so that an empty layer is hidden by the line of the one below.
  const all = Array.from({ length: many }, (_, index) => line(many - 1 - index));
  // Each layer is filled down to the one below; the lowest to the ground.
  const bands = all.slice(1).map((_, index): uPlot.Band => ({ series: [index + 1, index + 2] }));
  return { series: [{}, ...all], bands };
}

export function Layers(props: {
  /** Title, in a word or two. */
  name: string;
  names: readonly string[];
  series: readonly (readonly Sample[])[];
  way: "down" | "up";
}) {
  const { name, names, series, way } = props;
  const f = format();
  // Series are new objects only after an addition.
  const data = useMemo(() => layers(series, way), [way, ...series]);
  const drawn = useMemo((): [number[], ...(number | null)[][]] => {
    const [times, ...sums] = data;
    return [times, ...sums.reverse()];
  }, [data]);
  const shares = (index: number) => {
    const rates = thickness(data, index);
    return names
      .map((one, place) => t("paths.of", { name: one, rate: f.rate(rates[place] ?? 0) }))
      .join(", ");
  };
  const last = data[0].length - 1;
  const point = (index: number) => {
    const time = data[0][index];
    if (time === undefined || data[1]?.[index] == null) return null;
    return t("paths.point", { time: f.clock(time), shares: shares(index) });
  };
  const label = t("paths.label", { name, shares: last < 0 ? t("common.none") : shares(last) });
  return (
    <Plot
      // A canvas has a fixed number of lines.
      key={names.length}
      label={label}
      data={drawn}
      draw={() => draw(names.length)}
      point={point}
      height={290}
    />
  );
}
