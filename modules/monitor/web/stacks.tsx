// Stacked bars, one for each period. A picture to a screen reader; arrow keys choose a period, and
// an adjacent table shows its figures.
import { useEffect, useRef, useState } from "preact/hooks";
import { scale } from "@/core/scale";
import { format } from "@/text";
import { type Bar, stack } from "./core/periods";
import { t } from "./text";

const HEIGHT = 300;
const LEFT = 74;
const BOTTOM = 26;
const TOP = 10;

export function Stacks(props: {
  bars: readonly Bar[];
  /** Coloured keys, and their names. */
  keys: readonly string[];
  names: readonly string[];
  label: string;
  titleOf: (bar: Bar, short: boolean) => string;
  chosen: number | null;
  choose: (index: number | null) => void;
}) {
  const { bars, keys, names, label, titleOf, chosen, choose } = props;
  const f = format();
  const room = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const place = room.current;
    if (place === null) return;
    const measure = () => setWidth(Math.max(place.clientWidth, 240));
    const watcher = new ResizeObserver(measure);
    watcher.observe(place);
    measure();
    return () => watcher.disconnect();
  }, []);

  const stacks = bars.map((bar) => stack(bar.period, keys));
  const totals = stacks.map((parts) => parts.reduce((sum, bytes) => sum + bytes, 0));
  const { top, steps } = scale(Math.max(0, ...totals));
  const inner = HEIGHT - BOTTOM - TOP;
  const y = (bytes: number) => TOP + inner - (bytes / top) * inner;
  const slot = (width - LEFT) / Math.max(bars.length, 1);
  const gap = Math.min(slot * 0.22, 8);
  // As many names as fit below.
  const every = Math.max(1, Math.ceil(72 / slot));
  const hasRest = stacks.some((parts) => (parts.at(-1) ?? 0) > 0);

  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") return choose(null);
    if (step === undefined && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    if (event.key === "Home") return choose(0);
    if (event.key === "End" || chosen === null) return choose(bars.length - 1);
    choose(Math.min(Math.max(chosen + (step ?? 0), 0), bars.length - 1));
  };
  return (
    <>
      <div
        ref={room}
        class="stacks"
        role="img"
        aria-label={label}
        aria-description={t("history.keys")}
        tabIndex={0}
        onKeyDown={onKey}
      >
        <svg width={width} height={HEIGHT} aria-hidden="true" focusable="false">
          {steps.map((step) => (
            <g key={step}>
              <line x1={LEFT} x2={width} y1={y(step)} y2={y(step)} class="grid-line" />
              <text x={LEFT - 8} y={y(step) + 4} text-anchor="end">
                {step === 0 ? "0" : f.roundBytes(step)}
              </text>
            </g>
          ))}
          {bars.map((bar, index) => {
            const x = LEFT + index * slot;
            let below = 0;
            return (
              <g
                key={bar.start}
                class={`stack ${index === chosen ? "chosen" : ""}`}
                onClick={() => choose(index === chosen ? null : index)}
              >
                <rect x={x} y={TOP} width={slot} height={inner} class="stack-ground" />
                {(stacks[index] ?? []).map((bytes, part) => {
                  const foot = y(below);
                  below += bytes;
                  const name = part < keys.length ? `part-${part}` : "part-rest";
                  return bytes > 0 ? (
                    <rect
                      key={name}
                      x={x + gap / 2}
                      width={slot - gap}
                      y={y(below)}
                      height={foot - y(below)}
                      class={name}
                    />
                  ) : null;
                })}
                {(bars.length - 1 - index) % every === 0 && (
                  <text x={Math.min(x + slot / 2, width - 28)} y={HEIGHT - 8} text-anchor="middle">
                    {titleOf(bar, true)}
                  </text>
                )}
                <title>{`${titleOf(bar, false)}: ${f.bytes(totals[index] ?? 0)}`}</title>
              </g>
            );
          })}
        </svg>
      </div>
      <ul class="legend">
        {names.map((name, index) => (
          <li key={keys[index]}>
            <span class={`key part-${index}`} aria-hidden="true" />
            <bdi>{name}</bdi>
          </li>
        ))}
        {hasRest && (
          <li>
            <span class="key part-rest" aria-hidden="true" />
            {t("common.others")}
          </li>
        )}
      </ul>
    </>
  );
}
