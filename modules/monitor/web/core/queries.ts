// Conversations that are folded away: pure.
import type { Conversation } from "../types";

/** An answered query: there are many of them, and each ends at once. */
export const isFinishedQuery = ({
  application,
  rate,
}: Pick<Conversation, "application" | "rate">) =>
  application === "dns" && rate.received + rate.sent === 0;
