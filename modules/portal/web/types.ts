// What the daemon tells of guests and their vouchers.

export interface PortalClients {
  clients: PortalClient[];
  hours: PortalHours;
}

/** Who gets in; seconds until that changes, null: it does not. */
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
  /** What his account is called who has it, if he came by that. */
  account: string | null;
  /** Ids of those that begin when that is over. */
  next: string[];
  /** Of all its vouchers; null: without an end. */
  seconds_remaining: number | null;
  bytes_remaining: number | null;
  /** When another browser than its own came with its hardware address, seconds since 1970. */
  other_browser: number | null;
}

export interface PortalVouchers {
  vouchers: PortalVoucher[];
}

export interface PortalVoucher {
  id: string;
  code: string;
  /** The code that another portal sold it by. */
  former?: string;
  name: string;
  /** "available", "active", "expired" or "invalidated". */
  state: string;
  /** Seconds; null: for ever. */
  duration: number | null;
  seconds_remaining: number | null;
  bytes: number | null;
  bytes_remaining: number | null;
  /** Bits a second that each device may send, and get; null: as many as there are. */
  rate: number | null;
  /** Its time goes by only while one of its devices is on-line. */
  online: boolean;
  devices: number;
  until: number | null;
  created: number;
  activated: number | null;
  invalidated: number | null;
  users: string[];
  sold_by: string | null;
  double_use: { how: string; nodes: string[] } | null;
  /** Only where one voucher is asked for, as the next. */
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
  /** Such as "2026-11-24", by the router's zone. */
  day: string;
  guests: number;
  log_ins: number;
  /** In which they moved anything, of all devices together. */
  seconds: number;
  bytes: number;
  sold: number;
}

/** What the guests' page says. */
export interface PortalPage {
  title: string;
  /** In Markdown. */
  text: string;
  /** Else it is the configuration's. */
  edited: boolean;
  picture: PortalPicture | null;
}

export interface PortalPicture {
  media: string;
  width: number;
  height: number;
  bytes: number;
  /** Another one each time that the page changes. */
  version: number;
}
