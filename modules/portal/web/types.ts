// The daemon's data about guests and their vouchers.

export interface PortalClients {
  clients: PortalClient[];
  hours: PortalHours;
}

/** Access mode; seconds until the mode changes, null: it does not change. */
export interface PortalHours {
  mode: "vouchers" | "closed" | "open";
  seconds: number | null;
}

/** A device behind the portal. */
export interface PortalClient {
  mac: string;
  addresses: string[];
  state: "waiting" | "admitted" | "free" | "exempt";
  /** Id of its voucher. */
  voucher: string | null;
  /** Name of the guest's account, if the guest logged in by account. */
  account: string | null;
  /** Ids of the vouchers that follow the current one. */
  next: string[];
  /** Seconds left over all its vouchers; null: no time limit. */
  seconds_remaining: number | null;
  bytes_remaining: number | null;
  /** Time when another browser came with the same hardware address, seconds since 1970. */
  other_browser: number | null;
}

export interface PortalVouchers {
  vouchers: PortalVoucher[];
}

export interface PortalVoucher {
  id: string;
  code: string;
  /** Code of the voucher at the portal that sold it. */
  former?: string;
  name: string;
  /** "available", "active", "expired" or "revoked". */
  state: string;
  /** Seconds; null: unlimited. */
  duration: number | null;
  seconds_remaining: number | null;
  bytes: number | null;
  bytes_remaining: number | null;
  /** Bits per second that each device may send, and receive; null: unlimited. */
  rate: number | null;
  /** True if time counts only while one of its devices is online. */
  online: boolean;
  devices: number;
  until: number | null;
  created: number;
  activated: number | null;
  revoked: number | null;
  users: string[];
  sold_by: string | null;
  double_use: { how: string; nodes: string[] } | null;
  /** Only in the answer for one voucher, like the next field. */
  signed?: string;
  qr?: QrPicture;
}

export interface QrPicture {
  side: number;
  path: string;
}

/** Days on which the portal was open, the oldest first. */
export interface PortalFigures {
  days: PortalDay[];
}

export interface PortalDay {
  /** Date such as "2026-11-24", in the router's zone. */
  day: string;
  guests: number;
  log_ins: number;
  /** Seconds with traffic, summed over all devices. */
  seconds: number;
  bytes: number;
  sold: number;
}

/** Content of the guests' page. */
export interface PortalPage {
  title: string;
  /** In Markdown. */
  text: string;
  /** False: the text is the configuration's. */
  edited: boolean;
  picture: PortalPicture | null;
}

export interface PortalPicture {
  media: string;
  width: number;
  height: number;
  bytes: number;
  /** Version that changes with the page. */
  version: number;
}
