// The wizard's steps, and which of them a field belongs to. Pure.
import type { FieldProblem, Part } from "../types";

export const STEPS = ["language", "router", "internet", "wifi", "services", "summary"] as const;
export type Step = (typeof STEPS)[number];

/** What each step decides. */
export const PARTS: Record<Step, readonly Part[]> = {
  language: ["router"],
  router: ["router"],
  internet: ["internet"],
  wifi: ["wifi"],
  services: ["lan", "dns", "mesh", "wireguard", "openvpn", "firewall"],
  summary: [],
};

/** The step that the address names; the first where it names none, or one nobody came to yet. */
export function stepOf(word: string | undefined, visited: readonly Step[]): Step {
  const step = STEPS.find((known) => known === word);
  return step !== undefined && visited.includes(step) ? step : "language";
}

export const after = (step: Step): Step | undefined => STEPS[STEPS.indexOf(step) + 1];
export const before = (step: Step): Step | undefined => STEPS[STEPS.indexOf(step) - 1];

/** The step that has a field: `router.place[0]` is among the services. */
export function stepOfField(field: string): Step {
  const [part, name] = field.split(/[.[]/);
  if (part === "router") {
    if (name === "place") return "services";
    return name === "language" ? "language" : "router";
  }
  return STEPS.find((step) => PARTS[step].includes(part as Part)) ?? "summary";
}

/** Whether what is said of one field is of this one, or of something in it. */
export const within = (field: string, of: string): boolean =>
  of === field || of.startsWith(`${field}[`) || of.startsWith(`${field}.`);

export const problemsOf = (problems: readonly FieldProblem[], step: Step): FieldProblem[] =>
  problems.filter(({ field }) => stepOfField(field) === step);

/** The problem that a field shows: the first of itself or of what is in it. */
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
