// Traffic history: hours, days and months, divided by device or application.
import { useState } from "preact/hooks";
import { live } from "@/api/live";
import { useResource } from "@/api/poller";
import type { Count } from "@/api/types";
import { nameOf, plain } from "@/core/plain";
import type { Route } from "@/core/route";
import { useStore } from "@/core/store";
import { Choice, Name, Segments, Title } from "@/parts/basic";
import { Waiting } from "@/parts/failure";
import { type Column, Table } from "@/parts/table";
import { setQuery } from "@/shell/router";
import { format } from "@/text";
import { type Bar, bars, COLOURED, span, sums, UNITS, type Unit } from "./core/periods";
import { Stacks } from "./stacks";
import { t, word } from "./text";
import type { History, Part } from "./types";

type By = "device" | "application";

const bytesOf = (count: { received: Count; sent: Count }): number =>
  count.received.bytes + count.sent.bytes;

export function HistoryView({ route }: { route: Route }) {
  const { devices } = useStore(live);
  const unit = UNITS.find((known) => known === route.query.unit) ?? "day";
  const by: By = route.query.by === "application" ? "application" : "device";
  const device = route.query.device ?? "";
  // Bounded, because the address is untrusted.
  const page = Math.min(Math.max(Math.trunc(Number(route.query.page)) || 0, 0), 500);
  const known = (devices?.devices ?? []).filter((candidate) => !candidate.uplink);
  const options: [string, string][] = [
    ["", t("history.device.all")],
    ...known.map((candidate): [string, string] => [candidate.mac, nameOf(candidate)]),
  ];
  if (device !== "" && !known.some((candidate) => candidate.mac === device))
    options.push([device, plain(device)]);
  return (
    <>
      <Title text={t("view.history")} />
      <div class="controls">
        <Segments
          name="unit"
          label={t("history.unit")}
          value={unit}
          options={UNITS.map((name) => [name, t(`history.unit.${name}`)])}
          choose={(name) => setQuery({ unit: name, page: "" })}
        />
        <Segments
          name="by"
          label={t("history.by")}
          value={by}
          options={(["device", "application"] as const).map((name) => [
            name,
            t(`history.by.${name}`),
          ])}
          choose={(name) => setQuery({ by: name })}
        />
        <Choice
          id="device"
          label={t("history.device")}
          value={device}
          options={options}
          choose={(mac) => setQuery({ device: mac })}
        />
        <div class="buttons">
          <button type="button" class="button" onClick={() => setQuery({ page: String(page + 1) })}>
            {t("history.earlier")}
          </button>
          <button
            type="button"
            class="button"
            aria-disabled={page === 0}
            onClick={() => page > 0 && setQuery({ page: page === 1 ? "" : String(page - 1) })}
          >
            {t("history.later")}
          </button>
        </div>
      </div>
      <div class="card">
        <HistoryBoard id="history" device={device} unit={unit} by={by} page={page} heading="h2" />
      </div>
    </>
  );
}

/** Chart and table of a span; also on the page of a device. */
export function HistoryBoard(props: {
  id: string;
  device: string;
  unit: Unit;
  by: By;
  page: number;
  heading: "h2" | "h3";
}) {
  const { id, device, unit, by, page, heading } = props;
  // The router's zone comes with the first answer. Until then the reader's own zone is the best
  // guess.
  const [offset, setOffset] = useState(() => -new Date().getTimezoneOffset());
  // Moves only by the minute, so that not every poll asks for another span.
  const clock = useStore(live).devices?.now ?? Date.now() / 1000;
  const { from, to } = span(unit, Math.floor(clock / 60) * 60, offset, page);
  const query = { unit, from: String(from), to: String(to), device, by };
  const { data, failure, retry } = useResource<History>("history", query, 60_000);
  if (data !== null && data.offset_minutes !== offset) setOffset(data.offset_minutes);
  if (data === null) return <Waiting failure={failure} retry={retry} />;
  const key = `${unit} ${by} ${device} ${page}`;
  return (
    <Board
      key={key}
      id={id}
      unit={unit}
      by={by}
      history={data}
      from={from}
      to={to}
      heading={heading}
    />
  );
}

function Board(props: {
  id: string;
  unit: Unit;
  by: By;
  history: History;
  from: number;
  to: number;
  heading: "h2" | "h3";
}) {
  const { id, unit, by, history, from, to, heading: Heading } = props;
  const f = format();
  const [chosen, choose] = useState<number | null>(null);
  const { devices } = useStore(live);
  if (history.periods.length === 0) return <p class="nothing">{t("history.none")}</p>;
  const offset = history.offset_minutes;
  const row = bars(unit, from, to, offset, history.periods);
  const all = sums(history.periods);
  const keys = all.slice(0, COLOURED).map((part) => part.key);
  const naming = (part: { key: string; name?: string }): string => {
    if (by === "application") return plain(word("app", part.key));
    const device = devices?.devices.find((candidate) => candidate.mac === part.key);
    return part.name !== undefined && part.name !== ""
      ? plain(part.name)
      : device === undefined
        ? plain(part.key)
        : nameOf(device);
  };
  const names = all.slice(0, COLOURED).map(naming);
  const titleOf = (bar: Bar, short: boolean) => f.period(unit, bar.start, bar.end, offset, short);
  const whole = history.periods.reduce((sum, period) => sum + bytesOf(period), 0);
  const bar = chosen === null ? undefined : row[chosen];
  const parts = bar === undefined ? all : sums(bar.period === null ? [] : [bar.period]);
  const first = row[0];
  const last = row.at(-1);
  const label =
    first === undefined || last === undefined
      ? ""
      : t("history.chart", {
          from: titleOf(first, false),
          to: titleOf(last, false),
          total: f.bytes(whole),
        });
  return (
    <div class="history">
      <div class="history-chart">
        <Stacks
          bars={row}
          keys={keys}
          names={names}
          label={label}
          titleOf={titleOf}
          chosen={chosen}
          choose={choose}
        />
      </div>
      <div class="history-parts">
        <div class="card-head">
          <Heading aria-live="polite">
            {by === "application" ? t("history.parts.application") : t("history.parts")}:{" "}
            {bar === undefined ? t("history.whole") : titleOf(bar, false)}
          </Heading>
          {bar !== undefined && (
            <button type="button" class="button" onClick={() => choose(null)}>
              {t("history.whole")}
            </button>
          )}
        </div>
        <Table
          id={`${id}-`}
          caption={by === "application" ? t("history.parts.application") : t("history.parts")}
          columns={partColumns(
            keys,
            naming,
            parts.reduce((sum, part) => sum + bytesOf(part), 0),
          )}
          rows={parts}
          rowKey={(part) => part.key}
          first="total"
          none={t("history.none")}
        />
      </div>
      <details class="history-periods">
        <summary>{t("common.details")}</summary>
        <Table
          id={`${id}-period-`}
          caption={t("history.periods")}
          columns={periodColumns(titleOf)}
          rows={row.filter((candidate) => candidate.period !== null)}
          rowKey={(candidate) => String(candidate.start)}
          first="start"
          none={t("history.none")}
        />
      </details>
    </div>
  );
}

function partColumns(
  keys: string[],
  naming: (part: Part) => string,
  whole: number,
): Column<Part>[] {
  const f = format();
  return [
    {
      id: "name",
      title: t("common.name"),
      text: true,
      by: naming,
      cell: (part) => {
        const index = keys.indexOf(part.key);
        return (
          <>
            <span class={`key part-${index < 0 ? "rest" : index}`} aria-hidden="true" />
            <Name text={naming(part)} />
          </>
        );
      },
    },
    {
      id: "received",
      title: t("common.received"),
      numeric: true,
      level: 2,
      by: (part) => part.received.bytes,
      cell: (part) => f.bytes(part.received.bytes),
    },
    {
      id: "sent",
      title: t("common.sent"),
      numeric: true,
      level: 2,
      by: (part) => part.sent.bytes,
      cell: (part) => f.bytes(part.sent.bytes),
    },
    {
      id: "total",
      title: t("common.total"),
      numeric: true,
      by: bytesOf,
      cell: (part) => f.bytes(bytesOf(part)),
    },
    {
      id: "lan",
      title: t("devices.lan"),
      numeric: true,
      level: 3,
      by: (part) => lanOf(part),
      cell: (part) => lanText(part),
    },
    {
      id: "share",
      title: t("common.share"),
      numeric: true,
      cell: (part) => (whole > 0 ? f.share(bytesOf(part) / whole) : "–"),
    },
  ];
}

// Sent and received copies between two devices: shows both, because their sum counts twice.
const lanOf = (of: { lan: { received: Count; sent: Count } } | null): number =>
  Math.max(of?.lan.received.bytes ?? 0, of?.lan.sent.bytes ?? 0);

function lanText(of: { lan: { received: Count; sent: Count } } | null): string {
  const f = format();
  return `↓ ${f.bytes(of?.lan.received.bytes ?? 0)} ↑ ${f.bytes(of?.lan.sent.bytes ?? 0)}`;
}

function periodColumns(titleOf: (bar: Bar, short: boolean) => string): Column<Bar>[] {
  const f = format();
  const of = (bar: Bar, way: "received" | "sent") => bar.period?.[way].bytes ?? 0;
  return [
    {
      id: "start",
      title: t("history.period"),
      by: (bar) => bar.start,
      cell: (bar) => titleOf(bar, false),
    },
    {
      id: "received",
      title: t("common.received"),
      numeric: true,
      by: (bar) => of(bar, "received"),
      cell: (bar) => f.bytes(of(bar, "received")),
    },
    {
      id: "sent",
      title: t("common.sent"),
      numeric: true,
      by: (bar) => of(bar, "sent"),
      cell: (bar) => f.bytes(of(bar, "sent")),
    },
    {
      id: "total",
      title: t("common.total"),
      numeric: true,
      by: (bar) => of(bar, "received") + of(bar, "sent"),
      cell: (bar) => f.bytes(of(bar, "received") + of(bar, "sent")),
    },
    {
      id: "lan",
      title: t("devices.lan"),
      numeric: true,
      by: (bar) => lanOf(bar.period),
      cell: (bar) => lanText(bar.period),
    },
  ];
}
