// State of the wizard: the router as it is, the form, and the router's problems with it.
import { Failure, get, send } from "@/api/client";
import { Store } from "@/core/store";
import { begin, choices, harmless, secrets } from "./core/form";
import { type Step, stepOfField } from "./core/steps";
import type { Applied, Choices, Plan, Setup, SetupChange } from "./types";

export interface Wizard {
  setup: Setup | null;
  failure: Failure | null;
  form: Choices;
  visited: Step[];
  /** Fields that the user edited: problems of others are hidden until "next". */
  touched: string[];
  /** Steps that the user tried to leave. */
  tried: Step[];
  /** Typed secrets that were lost on a reload. */
  forgotten: string[];
  /** Paths of secrets that the router has. */
  kept: string[];
  plan: Plan | null;
  planFailure: Failure | null;
  applied: Applied | null;
  /** Time of the automatic revert, on the page's own clock, ms. */
  deadline: number;
  /** True if the router was unreachable while a change waits. */
  lost: boolean;
  /** Outcome of a change. */
  ended: "confirmed" | "reverted" | "over" | null;
}

const NOTHING: Wizard = {
  setup: null,
  failure: null,
  form: { format: 1 },
  visited: ["language"],
  touched: [],
  tried: [],
  forgotten: [],
  kept: [],
  plan: null,
  planFailure: null,
  applied: null,
  deadline: 0,
  lost: false,
  ended: null,
};

export const wizard = new Store<Wizard>(NOTHING);

export const set = (part: Partial<Wizard>) => wizard.set({ ...wizard.get(), ...part });

/** Pause after typing before a request, ms. */
const PAUSE = 250;
const DRAFT = "weir.setup";

interface Draft {
  form: Choices;
  visited: Step[];
  forgotten: string[];
  kept: string[];
}

// A browser may forbid storage: the draft then lasts as long as the page.
function remember(): void {
  const { form, visited, forgotten, kept } = wizard.get();
  const draft: Draft = {
    form: harmless(form),
    visited,
    forgotten: [...new Set([...forgotten, ...secrets(form)])],
    kept,
  };
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify(draft));
  } catch {}
}

function recall(): Draft | null {
  try {
    const draft = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null") as Draft | null;
    return draft !== null && Array.isArray(draft.visited) && draft.form.format === 1 ? draft : null;
  } catch {
    return null;
  }
}

function drop(): void {
  try {
    sessionStorage.removeItem(DRAFT);
  } catch {}
}

const deadline = (pending: SetupChange | null) => performance.now() + (pending?.left ?? 0) * 1000;

const asFailure = (error: unknown) => (error instanceof Failure ? error : new Failure(0, "", ""));

/** Fetches the router's state; the first answer starts the form. */
export async function load(): Promise<boolean> {
  let setup: Setup;
  try {
    setup = await get<Setup>("setup");
  } catch (error) {
    set({ failure: asFailure(error) });
    return false;
  }
  const first = wizard.get().setup === null;
  set({ setup, failure: null, lost: false, deadline: deadline(setup.pending) });
  if (first) {
    const draft = recall();
    set(draft ?? { form: begin(setup.choices, setup.radios), kept: setup.kept });
  }
  return true;
}

/** Fetches the router's state, and the plan for the form. */
export async function begun(): Promise<void> {
  if (await load()) ask();
}

/** Checks if the change still waits; if not, stores its outcome. */
export async function look(): Promise<void> {
  const waiting = wizard.get().setup?.pending;
  if (!waiting) return;
  let setup: Setup;
  try {
    setup = await get<Setup>("setup");
  } catch {
    // The address may have changed; the time limit continues.
    return set({ lost: true });
  }
  // The user may have pressed a button meanwhile.
  if (wizard.get().setup?.pending?.number !== waiting.number) return;
  if (setup.pending?.number === waiting.number) {
    return set({ setup, lost: false, deadline: deadline(setup.pending) });
  }
  // The change may have been confirmed at the new address.
  const confirmed = setup.states.some(({ number }) => number === waiting.number);
  set({ ended: confirmed ? "confirmed" : "over" });
  await anew();
}

/** Restarts the form with the router's state. */
export async function anew(): Promise<void> {
  drop();
  const { applied, ended } = wizard.get();
  wizard.set({ ...NOTHING, applied, ended });
  await begun();
}

/** Discards all but the draft, which has no secrets, with the session. */
export function forget(): void {
  clearTimeout(timer);
  asked += 1;
  wizard.set(NOTHING);
}

let timer: ReturnType<typeof setTimeout> | undefined;
/** Number of the last request: late answers to older ones are dropped. */
let asked = 0;

const sent = () => choices(wizard.get().form, wizard.get().visited);

async function plan(): Promise<Plan | null> {
  clearTimeout(timer);
  asked += 1;
  const own = asked;
  try {
    const answer = await send<Plan>("setup/plan", { choices: sent() });
    if (own === asked) set({ plan: answer, planFailure: null });
    return answer;
  } catch (error) {
    if (own === asked) set({ planFailure: asFailure(error) });
    return null;
  }
}

function ask(): void {
  clearTimeout(timer);
  timer = setTimeout(() => void plan(), PAUSE);
}

/** Changes the form; `field` is the edited field. */
export function change(form: Partial<Choices>, field?: string): void {
  const now = wizard.get();
  set({
    form: { ...now.form, ...form },
    ...(field !== undefined && {
      touched: [...new Set([...now.touched, field])],
      forgotten: now.forgotten.filter((one) => one !== field),
    }),
  });
  remember();
  ask();
}

/** Removes an element from a list of the form: later ones move up, with their problems. */
export function removed(list: string, index: number): void {
  const move = (paths: string[]) =>
    paths.flatMap((path) => {
      const rest = path.startsWith(`${list}[`) ? path.slice(list.length + 1) : null;
      if (rest === null) return [path];
      const at = Number.parseInt(rest, 10);
      if (at === index) return [];
      return [at < index ? path : `${list}[${at - 1}]${rest.slice(rest.indexOf("]") + 1)}`];
    });
  const now = wizard.get();
  set({
    kept: move(now.kept),
    touched: move(now.touched),
    forgotten: move(now.forgotten),
    plan: null,
  });
}

/** Marks a step as visited. */
export function visit(step: Step): void {
  const { visited } = wizard.get();
  if (visited.includes(step)) return;
  set({ visited: [...visited, step] });
  remember();
  ask();
}

/** Returns true if a step can be left: asks the router now, and shows its problems. */
export async function leave(step: Step): Promise<boolean> {
  const answer = await plan();
  if (answer === null) return false;
  if (!answer.problems.some(({ field }) => stepOfField(field) === step)) return true;
  set({ tried: [...new Set([...wizard.get().tried, step])] });
  return false;
}

export async function apply(why: string, within: number): Promise<void> {
  const applied = await send<Applied>("setup/apply", { choices: sent(), why, within });
  drop();
  const { setup } = wizard.get();
  set({
    applied,
    ended: null,
    lost: false,
    deadline: deadline(applied.change),
    setup: setup && { ...setup, pending: applied.change },
  });
}

/** Confirms or reverts the waiting change; with a number, reverts to before that change. */
export async function end(how: "confirm" | "revert", number?: number): Promise<void> {
  // Only the change on this page may be confirmed.
  const seen = wizard.get().setup?.pending ?? null;
  const which = how === "confirm" && seen !== null && { number: seen.number, when: seen.when };
  const body = which || (number === undefined ? {} : { number });
  await send<{ change: SetupChange }>(`setup/${how}`, body);
  set({ ended: how === "confirm" ? "confirmed" : "reverted" });
  if (how === "revert") set({ applied: null });
  await anew();
  // A return to a saved state is a change, too, and may need confirmation.
  if (wizard.get().setup?.pending) set({ ended: null });
}
