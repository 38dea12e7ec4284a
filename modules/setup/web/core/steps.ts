// The wizard's steps and their fields. Pure.
import type { FieldProblem, Part } from "../types";

export const STEPS = ["language", "router", "internet", "wifi", "services", "summary"] as const;
export type Step = (typeof STEPS)[number];

/** Parts of the document that each step edits. */
export const PARTS: Record<Step, readonly Part[]> = {
  language: ["router"],
  router: ["router"],
  internet: ["internet"],
  wifi: ["wifi"],
  services: ["lan", "dns", "mesh", "wireguard", "openvpn", "firewall"],
  summary: [],
};

/** Step in the address; the first if the address has none, or an unvisited one. */
export function stepOf(word: string | undefined, visited: readonly Step[]): Step {
  const step = STEPS.find((known) => known === word);
  return step !== undefined && visited.includes(step) ? step : "language";
}

export const after = (step: Step): Step | undefined => STEPS[STEPS.indexOf(step) + 1];
export const before = (step: Step): Step | undefined => STEPS[STEPS.indexOf(step) - 1];

/** Step with a field: `router.place[0]` is among the services. */
export function stepOfField(field: string): Step {
  const [part, name] = field.split(/[.[]/);
  if (part === "router") {
    if (name === "place") return "services";
    return name === "language" ? "language" : "router";
  }
  return STEPS.find((step) => PARTS[step].includes(part as Part)) ?? "summary";
}

/** True if `of`, the field of a problem, is this field or a part of it. */
export const within = (field: string, of: string): boolean =>
  of === field || of.startsWith(`${field}[`) || of.startsWith(`${field}.`);

export const problemsOf = (problems: readonly FieldProblem[], step: Step): FieldProblem[] =>
  problems.filter(({ field }) => stepOfField(field) === step);

/** Problem that a field shows: the first of its own or of its parts. */
export const problemAt = (
  problems: readonly FieldProblem[],
  path: string,
): FieldProblem | undefined => problems.find(({ field }) => within(path, field));

/** Problems of a step that none of these fields shows. */
export function unshown(
  problems: readonly FieldProblem[],
  step: Step,
  fields: readonly string[],
): FieldProblem[] {
  return problemsOf(problems, step).filter(
    (problem) => !fields.some((path) => problemAt(problems, path) === problem),
  );
}
