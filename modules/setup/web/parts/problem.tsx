// The router's problem with a field, at the field.
import { useLayoutEffect } from "preact/hooks";
import { plain } from "@/core/plain";
import { Store, useStore } from "@/core/store";
import { Told } from "@/parts/told";
import { WarnIcon } from "@/shell/icons";
import { problemAt, stepOfField } from "../core/steps";
import { wizard } from "../store";
import { knows, t } from "../text";
import type { FieldProblem, Sentence } from "../types";

type Key = Parameters<typeof t>[0];

/** The catalogue's text for a word of the router, with all its values; else `null`. */
export function translated(
  prefix: "problem" | "sentence",
  told: string,
  values: Readonly<Record<string, string>>,
): string | null {
  if (!knows(prefix, told)) return null;
  const text = t(`${prefix}.${told}` as Key);
  const wanted = [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  if (!wanted.every((name) => Object.hasOwn(values, name))) return null;
  const shown = Object.entries(values).map(([name, value]) => [name, plain(String(value))]);
  return t(`${prefix}.${told}` as Key, Object.fromEntries(shown));
}

export function ProblemText({ problem }: { problem: FieldProblem }) {
  const { problem: told, values, says, hint } = problem;
  const text = translated("problem", told, values ?? {});
  if (text !== null) return <>{text}</>;
  return (
    <>
      <Told text={says} /> {hint !== "" && <Told text={hint} />}
    </>
  );
}

export function SentenceText({ sentence }: { sentence: Sentence }) {
  const text = translated("sentence", sentence.sentence, sentence.values ?? {});
  return text === null ? <Told text={sentence.says} /> : <span>{text}</span>;
}

/** Paths of the fields on the page. */
export const fields = new Store<readonly string[]>([]);

/** Problem of a field, if it may be shown yet. */
export function useProblem(path: string): FieldProblem | null {
  const { plan, touched, tried } = useStore(wizard);
  useLayoutEffect(() => {
    fields.set([...fields.get(), path]);
    return () => {
      // Removes only one: another field may have the path already.
      const others = [...fields.get()];
      others.splice(others.indexOf(path), 1);
      fields.set(others);
    };
  }, [path]);
  const found = problemAt(plan?.problems ?? [], path);
  if (found === undefined) return null;
  return touched.includes(path) || tried.includes(stepOfField(path)) ? found : null;
}

/** Always present, so that a screen reader announces new problems. */
export function Wrong({ id, problem }: { id: string; problem: FieldProblem | null }) {
  return (
    <div aria-live="polite">
      {problem !== null && (
        <p class="wrong" id={`${id}-wrong`}>
          <WarnIcon />
          <span>
            <ProblemText problem={problem} />
          </span>
        </p>
      )}
    </div>
  );
}

export const idOf = (path: string) => `setup-${path.replace(/[^a-z0-9_]+/gi, "-")}`;

/** Ids of the elements that describe a field. */
export const describedBy = (id: string, hint: boolean, problem: FieldProblem | null) =>
  [hint ? `${id}-hint` : "", problem === null ? "" : `${id}-wrong`].filter(Boolean).join(" ") ||
  undefined;
