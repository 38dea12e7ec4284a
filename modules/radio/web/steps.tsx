// Power steps of an access point, as a table.
import { plain } from "@/core/plain";
import { type Column, Table } from "@/parts/table";
import { format } from "@/text";
import type { Point } from "./core/steps";
import { dbm, NONE, rate } from "./figures";
import { t, word } from "./text";

export function Steps({ device, all }: { device: string; all: readonly Point[] }) {
  return (
    <details class="radio-steps">
      <summary>{t("common.details")}</summary>
      <Table
        id={`${device}-steps-`}
        caption={t("radio.steps", { device: plain(device) })}
        columns={columns()}
        rows={all}
        rowKey={({ key }) => key}
        first="at"
        none={t("radio.picture.none")}
      />
    </details>
  );
}

function columns(): Column<Point>[] {
  const rates = ["throughput", "reference", "rate"] as const;
  const levels = { throughput: 1, reference: 2, rate: 1 } as const;
  return [
    {
      id: "at",
      title: t("radio.at"),
      by: ({ ago }) => ago,
      cell: ({ ago }) => format().seconds(ago),
    },
    {
      id: "power",
      title: t("radio.step.power"),
      numeric: true,
      by: ({ power_dbm }) => power_dbm,
      cell: ({ power_dbm }) => dbm(power_dbm),
    },
    ...rates.map(
      (what): Column<Point> => ({
        id: what,
        title: t(`radio.${what}`),
        numeric: true,
        level: levels[what],
        by: (point) => point[`${what}_mbit`],
        cell: (point) => rate(point[`${what}_mbit`]),
      }),
    ),
    {
      id: "why",
      title: t("radio.why"),
      cell: ({ reason }) => <span class="radio-reason">{word("reason", plain(reason))}</span>,
    },
    {
      id: "station",
      title: t("radio.station"),
      level: 2,
      cell: ({ station }) => (station === null ? NONE : <span class="code">{plain(station)}</span>),
    },
  ];
}
