// Conversations seen at an uplink are reported from the other side: the station is the remote end
// there. Pure.
import type { Latency } from "@/api/types";
import type { Talk } from "../types";

function turned(latency: Latency): Latency {
  const { lan, wan, lan_least, wan_least, ...rest } = latency;
  return {
    ...rest,
    ...(wan === undefined ? {} : { lan: wan }),
    ...(lan === undefined ? {} : { wan: lan }),
    ...(wan_least === undefined ? {} : { lan_least: wan_least }),
    ...(lan_least === undefined ? {} : { wan_least: lan_least }),
  };
}

/** Splits `192.0.2.1:80` or `[2001:db8::1]:80`; the port is 0 if missing. */
function taken(endpoint: string): [string, number] {
  const parts = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(endpoint);
  return parts === null ? [endpoint, 0] : [parts[1] ?? parts[2] ?? "", Number(parts[3])];
}

/**
 * A conversation as seen from inside, whichever way it was reported. `router` names the router
 * itself, whose own conversations are seen only at uplinks. A reversed conversation has no hardware
 * address: the reported one is the gateway's.
 */
export function fromInside(talk: Talk, router: string): Talk {
  if (talk.outside !== true) return talk;
  const { device: _, far_name: __, behind, latency, ...same } = talk;
  const [station, station_port] = behind === undefined ? [talk.far, talk.far_port] : taken(behind);
  return {
    ...same,
    mac: "",
    station,
    station_port,
    ...(behind === undefined ? { device: router } : { translated: `${talk.far}:${talk.far_port}` }),
    far: talk.station,
    far_port: talk.station_port,
    received: talk.sent,
    sent: talk.received,
    rate: { received: talk.rate.sent, sent: talk.rate.received },
    uplink: talk.port,
    ...(latency === undefined ? {} : { latency: turned(latency) }),
  };
}
