// Conversations seen at an uplink are reported from the other side: the station is the remote end
// there. Pure.
import type { Latency } from "@/api/types";
import type { Conversation } from "../types";

function turned(latency: Latency): Latency {
  const { lan, wan, lan_min, wan_min, ...rest } = latency;
  return {
    ...rest,
    ...(wan === undefined ? {} : { lan: wan }),
    ...(lan === undefined ? {} : { wan: lan }),
    ...(wan_min === undefined ? {} : { lan_min: wan_min }),
    ...(lan_min === undefined ? {} : { wan_min: lan_min }),
  };
}

/** Splits `192.0.2.1:80` or `[2001:db8::1]:80`; the port is 0 if missing. */
function taken(endpoint: string): [string, number] {
  const parts = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(endpoint);
  return parts === null ? [endpoint, 0] : [parts[1] ?? parts[2] ?? "", Number(parts[3])];
}

/**
 * A conversation as seen from inside, whatever the reported direction. `router` names the router
 * itself, whose own conversations are seen only at uplinks. A reversed conversation has no hardware
 * address: the reported one is the gateway's.
 */
export function fromInside(conversation: Conversation, router: string): Conversation {
  if (conversation.outside !== true) return conversation;
  const { device: _, remote_name: __, behind, latency, ...same } = conversation;
  const [station, station_port] =
    behind === undefined ? [conversation.remote, conversation.remote_port] : taken(behind);
  return {
    ...same,
    mac: "",
    station,
    station_port,
    ...(behind === undefined
      ? { device: router }
      : { translated: `${conversation.remote}:${conversation.remote_port}` }),
    remote: conversation.station,
    remote_port: conversation.station_port,
    received: conversation.sent,
    sent: conversation.received,
    rate: { received: conversation.rate.sent, sent: conversation.rate.received },
    uplink: conversation.port,
    ...(latency === undefined ? {} : { latency: turned(latency) }),
  };
}
