// The picture: traffic that weir forwards itself, from port to next hop.
import { useEffect, useRef, useState } from "preact/hooks";
import { live } from "@/api/live";
import { useResource } from "@/api/poller";
import type { Devices } from "@/api/types";
import { plain } from "@/core/plain";
import { USUAL } from "@/core/poll";
import { useStore } from "@/core/store";
import { Card, Name, Title } from "@/parts/basic";
import { Waiting } from "@/parts/failure";
import { type Column, Table } from "@/parts/table";
import { format } from "@/text";
import { type Block, bundled, layOut, outline, type Ribbon, type Stream } from "./core/picture";
import { hopName, namesOf, type Reading, streams } from "./core/streams";
import { plural, t } from "./text";
import type { FlowList, Hop } from "./types";

/** Requested flows: those with most traffic. */
const FLOWS = { state: "forwarded", sort: "bytes", limit: "400" };
const SPACE = 360;
const BLOCK = 12;

export function PictureView() {
  const { devices, failure: liveFailure } = useStore(live);
  const flows = useResource<FlowList>("flows", FLOWS, USUAL);
  const hops = useResource<Hop[]>("hops", {}, 10_000);
  const readings = useReadings(flows.data);
  const ready = flows.data !== null && hops.data !== null && devices !== null;
  return (
    <>
      <Title text={t("picture.title")}>
        <p class="muted lead">{t("picture.text")}</p>
      </Title>
      {!ready ? (
        <Waiting failure={flows.failure ?? hops.failure ?? liveFailure} retry={flows.retry} />
      ) : (
        <Board readings={readings} hops={hops.data ?? []} devices={devices} />
      )}
    </>
  );
}

/** The last two readings of the flow table, for the calculation of rates. */
function useReadings(list: FlowList | null): { before: Reading | null; after: Reading | null } {
  const kept = useRef<{ before: Reading | null; after: Reading | null }>({
    before: null,
    after: null,
  });
  if (list !== null && kept.current.after?.list !== list) {
    kept.current = { before: kept.current.after, after: { time: performance.now() / 1000, list } };
  }
  return kept.current;
}

function Board(props: {
  readings: { before: Reading | null; after: Reading | null };
  hops: Hop[];
  devices: Devices;
}) {
  const { hops, devices } = props;
  const { before, after } = props.readings;
  if (after === null) return null;
  if (before === null) return <p class="waiting">{t("picture.measuring")}</p>;
  const found = streams(before, after, namesOf(devices.devices));
  const uplinks = new Set(
    devices.ports.filter((port) => port.uplink).map((port) => plain(port.name)),
  );
  const hop = (key: string) => hopName(key, hops, devices.devices);
  // A port can have the uplink in one VLAN and the LAN in another one.
  const inside = new Set(
    devices.devices.filter((device) => !device.uplink).map((device) => device.mac),
  );
  const up = (key: string) => {
    const to = hops.find((candidate) => String(candidate.index) === key)?.destination;
    return uplinks.has(hop(key).device) && (to === undefined || !inside.has(to));
  };
  if (found.length === 0) {
    return (
      <Card title={t("view.picture")}>
        <p class="nothing">{t("picture.none")}</p>
      </Card>
    );
  }
  return (
    <div class="grid">
      <div class="card">
        <Drawing streams={found} hop={hop} up={up} />
      </div>
      <Card title={t("picture.caption")}>
        <Table
          id="stream-"
          caption={t("picture.caption")}
          columns={columns(hop)}
          rows={bundled(found)}
          rowKey={(stream) => stream.id}
          first="rate"
          none={t("picture.none")}
        />
      </Card>
    </div>
  );
}

type HopNamer = (key: string) => { name: string; device: string };

const labelOf = (stream: Stream): string => stream.label || plural("picture.rest", stream.flows);

function columns(hop: HopNamer): Column<Stream>[] {
  const f = format();
  return [
    {
      id: "flow",
      title: t("picture.flow"),
      text: true,
      by: labelOf,
      cell: (stream) => <Name text={labelOf(stream)} />,
    },
    {
      id: "port",
      title: t("common.port"),
      level: 2,
      by: (stream) => stream.port,
      cell: (stream) => <Name text={stream.port} />,
    },
    {
      id: "hop",
      title: t("picture.hop"),
      text: true,
      level: 2,
      by: (stream) => hop(stream.hop).name,
      cell: (stream) => (
        <>
          <Name text={hop(stream.hop).name} /> <span class="muted">{hop(stream.hop).device}</span>
        </>
      ),
    },
    {
      id: "rate",
      title: t("picture.rate"),
      numeric: true,
      by: (stream) => stream.rate,
      cell: (stream) => f.rate(stream.rate),
    },
  ];
}

function Drawing({
  streams: given,
  hop,
  up,
}: {
  streams: Stream[];
  hop: HopNamer;
  up: (key: string) => boolean;
}) {
  const f = format();
  const room = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(900);
  const [chosen, choose] = useState<string | null>(null);
  useEffect(() => {
    const place = room.current;
    if (place === null) return;
    const watcher = new ResizeObserver(() => setWidth(Math.max(place.clientWidth, 280)));
    watcher.observe(place);
    return () => watcher.disconnect();
  }, []);
  const picture = layOut(given, SPACE);
  // The Tab key stops once; arrow keys move on from there, in the order of the table.
  const stop = picture.ribbons.some((ribbon) => ribbon.stream.id === chosen)
    ? chosen
    : picture.ribbons[0]?.stream.id;
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const ribbons = [...(room.current?.querySelectorAll<SVGPathElement>(".ribbon") ?? [])];
    const now = ribbons.indexOf(document.activeElement as SVGPathElement);
    ribbons[Math.min(Math.max(now + step, 0), ribbons.length - 1)]?.focus();
  };
  const left = BLOCK;
  const right = width - BLOCK;
  const textOf = ({ stream }: Ribbon) =>
    t("picture.ribbon", {
      flow: labelOf(stream),
      rate: f.rate(stream.rate),
      port: stream.port,
      hop: hop(stream.hop).name,
    });
  const shown = picture.ribbons.find((ribbon) => ribbon.stream.id === chosen);
  const block = (side: "left" | "right") => (item: Block) => {
    const named = side === "left" ? { name: item.key, device: "" } : hop(item.key);
    const x = side === "left" ? 0 : right;
    // Slightly less than half of the width: names of both sides are in one line.
    const letters = Math.min(Math.floor(width / 2 / 8.2), 36);
    const name = named.device === "" ? named.name : `${named.name} · ${named.device}`;
    const cut =
      Array.from(name).length > letters
        ? `${Array.from(name)
            .slice(0, letters - 1)
            .join("")}…`
        : name;
    return (
      <g key={item.key}>
        <rect x={x} y={item.y} width={BLOCK} height={item.height} rx="2" class="block" />
        <text
          x={side === "left" ? 0 : width}
          y={item.y - 21}
          text-anchor={side === "left" ? "start" : "end"}
          class="block-name"
        >
          {cut}
          <title>{name}</title>
        </text>
        <text
          x={side === "left" ? 0 : width}
          y={item.y - 6}
          text-anchor={side === "left" ? "start" : "end"}
        >
          {f.rate(item.rate)}
        </text>
      </g>
    );
  };
  return (
    <div ref={room} class="picture">
      <p class="picture-heads" aria-hidden="true">
        <span>{t("picture.ports")}</span>
        <span>{t("picture.hops")}</span>
      </p>
      <svg
        width={width}
        height={picture.height}
        role="group"
        aria-label={t("picture.label")}
        onKeyDown={onKey}
      >
        {picture.ribbons.map((ribbon) => {
          const id = ribbon.stream.id;
          const way = up(ribbon.stream.hop) ? "up" : "down";
          return (
            <path
              key={id}
              d={outline(ribbon, left, right)}
              class={`ribbon ${way} ${id === chosen ? "chosen" : ""}`}
              role="img"
              aria-label={textOf(ribbon)}
              tabIndex={id === stop ? 0 : -1}
              onMouseEnter={() => choose(id)}
              onMouseLeave={() => choose(null)}
              onFocus={() => choose(id)}
              onBlur={() => choose(null)}
            />
          );
        })}
        <g aria-hidden="true">
          {picture.ports.map(block("left"))}
          {picture.hops.map(block("right"))}
        </g>
      </svg>
      <p class="readout" aria-hidden="true">
        {shown === undefined ? t("picture.hint") : textOf(shown)}
      </p>
      <ul class="legend">
        <li>
          <span class="key down" aria-hidden="true" />
          {t("common.download")}
        </li>
        <li>
          <span class="key up" aria-hidden="true" />
          {t("common.upload")}
        </li>
      </ul>
    </div>
  );
}
