// Parameters of the sale of a voucher. Pure.

/** Durations that are sold by a tap, seconds; 0: unlimited. */
export const TIMES = ["3600", "86400", "604800", "0"] as const;
export type Time = (typeof TIMES)[number];

/** Counting of a voucher's time: always once begun, or only online. */
export const COUNTS = ["always", "online"] as const;
export type Counts = (typeof COUNTS)[number];

/** Contents of the fields. */
export interface Sale {
  time: Time;
  name: string;
  count: string;
  devices: string;
  megabytes: string;
  megabits: string;
  /** Counting of its time. */
  counts: Counts;
}

export const USUAL_SALE: Sale = {
  time: "86400",
  name: "",
  count: "1",
  devices: "1",
  megabytes: "",
  megabits: "",
  counts: "always",
};

/** Bounds of the numeric fields. */
export const BOUNDS = {
  count: [1, 200],
  devices: [1, 1000],
  megabytes: [1, 1_000_000_000],
  megabits: [1, 100_000],
} as const;

export type Numbers = keyof typeof BOUNDS;

/** Number in a field; null: not a valid number. */
export function numberOf(field: Numbers, text: string): number | null {
  const [least, most] = BOUNDS[field];
  const value = /^\d{1,12}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : null;
}

/** First invalid field, if any. */
export function wrong(sale: Sale): Numbers | null {
  if (numberOf("count", sale.count) === null) return "count";
  if (numberOf("devices", sale.devices) === null) return "devices";
  for (const field of ["megabytes", "megabits"] as const) {
    if (sale[field].trim() !== "" && numberOf(field, sale[field]) === null) return field;
  }
  return null;
}

/** The body of `POST /v1/portal/vouchers`. */
export function asked(sale: Sale) {
  const megabytes = numberOf("megabytes", sale.megabytes);
  const megabits = numberOf("megabits", sale.megabits);
  return {
    name: sale.name.trim(),
    duration: sale.time === "0" ? null : Number(sale.time),
    bytes: megabytes === null ? null : megabytes * 1_000_000,
    rate: megabits === null ? null : megabits * 1_000_000,
    online: sale.counts === "online" && sale.time !== "0",
    count: numberOf("count", sale.count) ?? 1,
    devices: numberOf("devices", sale.devices) ?? 1,
    until: null,
  };
}
