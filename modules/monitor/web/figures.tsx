// Figures that several views share.
import type { Latency, Wifi } from "@/api/types";
import { format } from "@/text";
import { t } from "./text";

/** A rate; a dash for no traffic, so that traffic stands out. */
export function RateFigure({ bits, kind }: { bits: number; kind: "down" | "up" }) {
  if (bits === 0) return <span class="muted">–</span>;
  return <span class={`rate-${kind}`}>{format().rate(bits)}</span>;
}

/** Both rates, one above the other: replaces two columns in a narrow table. */
export function Rates({ down, up }: { down: number; up: number }) {
  if (down === 0 && up === 0) return <span class="muted">–</span>;
  return (
    <span class="rates">
      <span>
        <span class="hidden">{t("common.download")} </span>
        <span aria-hidden="true">↓ </span>
        <RateFigure bits={down} kind="down" />
      </span>
      <span>
        <span class="hidden">{t("common.upload")} </span>
        <span aria-hidden="true">↑ </span>
        <RateFigure bits={up} kind="up" />
      </span>
    </span>
  );
}

/** Text of LAN and WAN latency: `3.1 / 21 ms`. */
export function latencyText(latency: Latency | undefined): string {
  if (latency === undefined || (latency.lan === undefined && latency.wan === undefined)) return "–";
  const f = format();
  // The unit once, after the last figure.
  if (latency.wan === undefined) return `${f.milliseconds(latency.lan ?? 0)} / –`;
  const lan = latency.lan === undefined ? "–" : f.fewDigits(latency.lan);
  return `${lan} / ${f.milliseconds(latency.wan)}`;
}

/** Sort key of latencies: the whole path. */
export function latencySum(latency: Latency | undefined): number | null {
  if (latency === undefined || (latency.lan === undefined && latency.wan === undefined))
    return null;
  return (latency.lan ?? 0) + (latency.wan ?? 0);
}

/** Signal, as bars and in dBm. */
export function Signal({ wifi }: { wifi: Wifi | undefined }) {
  if (wifi?.signal === undefined) return <span class="muted">–</span>;
  // From a barely usable link to the best possible one: the levels that systems commonly show.
  const level = [-80, -70, -62, -54].filter((least) => (wifi.signal ?? -100) >= least).length;
  return (
    <span class="signal">
      <svg viewBox="0 0 20 14" aria-hidden="true" focusable="false">
        {[0, 1, 2, 3].map((bar) => (
          <rect
            key={bar}
            x={bar * 5}
            y={10 - bar * 3.3}
            width="3.500"
            height={4 + bar * 3.3}
            rx="1"
            class={bar < level ? "on" : "off"}
          />
        ))}
      </svg>
      {format().dbm(wifi.signal)}
    </span>
  );
}

/** Verdict on latency under load, as a word with a colour. */
export function Verdict({
  told,
  growth,
}: {
  told: string | undefined;
  growth: number | undefined;
}) {
  if (told !== "good" && told !== "fair" && told !== "bad") return <span class="muted">–</span>;
  return (
    <>
      {growth !== undefined && `${format().milliseconds(growth)} `}
      <span class={`tag ${told}`}>{t(`bloat.${told}`)}</span>
    </>
  );
}
