// What the wizard knows and holds: the router as it is, the form, and what the router says of it.
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
  /** Fields that somebody typed in: what is wrong with others is not shown before "next". */
  touched: string[];
  /** Steps that somebody wanted to leave. */
  tried: Step[];
  /** Secrets that were typed, and lost as the page was loaded again. */
  forgotten: string[];
  /** Secrets that the router has, by where they stand in the form. */
  kept: string[];
  plan: Plan | null;
  planFailure: Failure | null;
  applied: Applied | null;
  /** When the change that waits is taken back, on the page's own clock, ms. */
  deadline: number;
  /** Whether the router was not reached while a change waits. */
  lost: boolean;
  /** What became of a change. */
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

/** Who types is left alone for so long, ms. */
const PAUSE = 250;
const DRAFT = "weir.setup";

interface Draft {
  form: Choices;
  visited: Step[];
  forgotten: string[];
  kept: string[];
}

// A browser may forbid storage: then the draft lasts as long as the page.
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

/** Asks how the router is; the first answer begins the form. */
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

/** The same, and what would come of the form: for who looks at it. */
export async function begun(): Promise<void> {
  if (await load()) ask();
}

/** Looks whether the change still waits; where it does not, says what became of it. */
export async function look(): Promise<void> {
  const waiting = wizard.get().setup?.pending;
  if (!waiting) return;
  let setup: Setup;
  try {
    setup = await get<Setup>("setup");
  } catch {
    // The address may have changed; the time goes by all the same.
    return set({ lost: true });
  }
  // Meanwhile somebody may have pressed a button.
  if (wizard.get().setup?.pending?.number !== waiting.number) return;
  if (setup.pending?.number === waiting.number) {
    return set({ setup, lost: false, deadline: deadline(setup.pending) });
  }
  // It may have been confirmed at the new address.
  const confirmed = setup.states.some(({ number }) => number === waiting.number);
  set({ ended: confirmed ? "confirmed" : "over" });
  await anew();
}

/** Begins anew: as the router is now. */
export async function anew(): Promise<void> {
  drop();
  const { applied, ended } = wizard.get();
  wizard.set({ ...NOTHING, applied, ended });
  await begun();
}

/** With the session all is forgotten but the draft, in which no secret is. */
export function forget(): void {
  clearTimeout(timer);
  asked += 1;
  wizard.set(NOTHING);
}

let timer: ReturnType<typeof setTimeout> | undefined;
/** Number of the question asked last: an older answer that comes later is dropped. */
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

/** Changes the form; `field` is where somebody typed. */
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

/** Takes an element out of a list of the form: those behind it move up, with what is said of them. */
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

/** Somebody came to a step. */
export function visit(step: Step): void {
  const { visited } = wizard.get();
  if (visited.includes(step)) return;
  set({ visited: [...visited, step] });
  remember();
  ask();
}

/** Whether a step can be left: asks the router now, and shows what is wrong in it. */
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

/** Confirms the change that waits, or takes it back; with a number, goes back to before that one. */
export async function end(how: "confirm" | "revert", number?: number): Promise<void> {
  // Whoever keeps a change keeps the one that is on this page, and no other.
  const seen = wizard.get().setup?.pending ?? null;
  const which = how === "confirm" && seen !== null && { number: seen.number, when: seen.when };
  const body = which || (number === undefined ? {} : { number });
  await send<{ change: SetupChange }>(`setup/${how}`, body);
  set({ ended: how === "confirm" ? "confirmed" : "reverted" });
  if (how === "revert") set({ applied: null });
  await anew();
  // Going back to a former state is a change, too, and may have to be confirmed.
  if (wizard.get().setup?.pending) set({ ended: null });
}
