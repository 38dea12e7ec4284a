// Where a condition leads, and whether it needs attention: pure.
import type { Condition } from "../../../api/types";

/** Whether any of them is more than a hint. */
export const needsAttention = (all: readonly Condition[]): boolean =>
  all.some((condition) => condition.severity !== "hint");

/** Path and query of the view that shows more; null: there is none. */
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
