// The view that a condition leads to, and conditions that need attention: pure.
import type { Condition } from "@/api/types";

/** Returns true if any condition is more than a hint. */
export const needsAttention = (all: readonly Condition[]): boolean =>
  all.some((condition) => condition.severity !== "hint");

/** Returns path and query of the view that shows more; null: no view shows more. */
export function placeOf({
  view,
  subject,
  parameters,
}: Condition): [string[], Record<string, string>] | null {
  switch (view) {
    case "":
      return null;
    case "devices":
      // Only a device has a page of its own.
      return [/^[0-9a-f:]{17}$/.test(subject) ? [view, subject] : [view], {}];
    case "cables":
      return [[view], { port: parameters.port ?? "" }];
    default:
      return [[view], {}];
  }
}
