// Number of guests by day, their time, and their traffic.
import { useState } from "preact/hooks";
import { useResource } from "@/api/poller";
import { Card, Segments, Title } from "@/parts/basic";
import { Waiting } from "@/parts/failure";
import { type Column, Table } from "@/parts/table";
import { format } from "@/text";
import { bars, MEASURES, type Measure, startOf, top } from "./core/days";
import { t } from "./text";
import type { PortalDay, PortalFigures } from "./types";

/** Interval of polls, ms: the figures change once a minute. */
const EVERY = 20_000;

const WIDTH = 640;
const HEIGHT = 180;

const name = (start: number, short: boolean) =>
  format().period("day", start, start + 86_400, 0, short);

function shown(measure: Measure, value: number): string {
  const f = format();
  if (measure === "bytes") return f.bytes(value);
  return measure === "seconds" ? f.span(value) : f.count(value);
}

export function DaysView() {
  const { data, failure, retry } = useResource<PortalFigures>("portal/figures", {}, EVERY);
  const [measure, choose] = useState<Measure>("guests");
  return (
    <>
      <Title text={t("view.days")}>
        <p class="muted">{t("days.hint")}</p>
      </Title>
      {data === null ? (
        <Waiting failure={failure} retry={retry} />
      ) : (
        <div class="grid days">
          <Card title={t(`days.${measure}`)}>
            {data.days.length === 0 ? (
              <p class="nothing">{t("days.empty")}</p>
            ) : (
              <>
                <div class="day-measures">
                  <Segments
                    name="measure"
                    label={t("days.what")}
                    value={measure}
                    options={MEASURES.map((one) => [one, t(`days.${one}`)] as const)}
                    choose={(one) => choose(one as Measure)}
                  />
                </div>
                <Bars days={data.days} measure={measure} />
              </>
            )}
          </Card>
          <div class="card span-12">
            <Table
              id=""
              caption={t("days.caption")}
              columns={columns()}
              rows={data.days}
              rowKey={({ day }) => day}
              first="day"
              none={t("days.empty")}
            />
          </div>
        </div>
      )}
    </>
  );
}

/** A picture to a screen reader, with a summary as its name; the table below has the figures. */
function Bars({ days, measure }: { days: readonly PortalDay[]; measure: Measure }) {
  const row = bars(days);
  const amount = (day: PortalDay | null) => day?.[measure] ?? 0;
  const most = Math.max(...row.map(({ day }) => amount(day)));
  const best = row.find(({ day }) => amount(day) === most);
  const high = top(most);
  const slot = WIDTH / row.length;
  const label = t("days.label", {
    what: t(`days.${measure}`),
    first: name(row[0]?.start ?? 0, true),
    last: name(row.at(-1)?.start ?? 0, true),
    day: name(best?.start ?? 0, true),
    most: shown(measure, most),
  });
  return (
    <div class="day-bars">
      <p class="muted small" aria-hidden="true">
        {shown(measure, high)}
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {[0, 0.5, 1].map((part) => (
          <line key={part} x1={0} x2={WIDTH} y1={part * HEIGHT} y2={part * HEIGHT} />
        ))}
        {row.map(({ start, day }, index) => {
          const height = (amount(day) / high) * HEIGHT;
          return (
            <g key={start}>
              <rect
                x={index * slot + slot * 0.15}
                y={HEIGHT - height}
                width={slot * 0.7}
                height={height}
              >
                <title>{`${name(start, false)}: ${shown(measure, amount(day))}`}</title>
              </rect>
            </g>
          );
        })}
      </svg>
      <p class="day-ends muted small" aria-hidden="true">
        <span>{name(row[0]?.start ?? 0, true)}</span>
        <span>{name(row.at(-1)?.start ?? 0, true)}</span>
      </p>
    </div>
  );
}

function columns(): Column<PortalDay>[] {
  const levels = { guests: 1, seconds: 2, bytes: 1, log_ins: 3, sold: 2 } as const;
  return [
    {
      id: "day",
      title: t("days.day"),
      numeric: true,
      by: ({ day }) => startOf(day),
      cell: ({ day }) => name(startOf(day), false),
    },
    ...MEASURES.map(
      (measure): Column<PortalDay> => ({
        id: measure,
        title: t(`days.${measure}`),
        numeric: true,
        level: levels[measure],
        by: (day) => day[measure],
        cell: (day) => shown(measure, day[measure]),
      }),
    ),
  ];
}
