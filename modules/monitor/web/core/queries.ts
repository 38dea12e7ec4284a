// Which conversations are folded away: pure.
import type { Talk } from "../types";

/** A query that was answered: there are many of them, and each is over at once. */
export const isFinishedQuery = ({ application, rate }: Pick<Talk, "application" | "rate">) =>
  application === "dns" && rate.received + rate.sent === 0;
