// Powers and rates, as text.
import { format } from "@/text";

export const NONE = "–";

export const dbm = (value: number | null) => (value === null ? NONE : format().dbm(value));

/** Text of a rate in Mbit/s. */
export const rate = (megabits: number | null) =>
  megabits === null ? NONE : format().rate(megabits * 1e6);
