// Fields of the form: each knows its path in the document, and shows the router's problem with it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { plain } from "@/core/plain";
import { useStore } from "@/core/store";
import { digits } from "../core/form";
import { wizard } from "../store";
import { t } from "../text";
import { describedBy, idOf, useProblem, Wrong } from "./problem";

interface Base {
  /** Path in the document: `internet.address`. */
  path: string;
  label: string;
  hint?: string | undefined;
}

function Hint({ id, text }: { id: string; text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p class="hint" id={`${id}-hint`}>
      {text}
    </p>
  );
}

function Label({ id, label, optional }: { id: string; label: string; optional?: boolean }) {
  return (
    <label for={id}>
      {label}
      {optional && ` (${t("setup.optional")})`}
    </label>
  );
}

/** A line of text. Text for machines is left-to-right in every language. */
export function Text(
  props: Base & {
    value: string | undefined;
    set: (value: string) => void;
    /** True for an address, a number or the like. */
    machine?: boolean;
    numeric?: boolean;
    optional?: boolean;
    options?: readonly string[];
    longest?: number;
  },
) {
  const { path, label, hint, value = "", machine = false, numeric = false, options } = props;
  const id = idOf(path);
  const problem = useProblem(path);
  return (
    <div class="field">
      <Label id={id} label={label} optional={props.optional === true} />
      <input
        id={id}
        class={machine ? "machine" : ""}
        dir={machine ? "ltr" : "auto"}
        inputMode={numeric ? "numeric" : "text"}
        autocomplete="off"
        autocapitalize={machine ? "none" : undefined}
        spellcheck={false}
        maxLength={props.longest ?? 256}
        list={options === undefined ? undefined : `${id}-list`}
        value={value}
        aria-invalid={problem !== null}
        aria-describedby={describedBy(id, hint !== undefined, problem)}
        onInput={(event) => props.set(event.currentTarget.value)}
      />
      {options !== undefined && (
        <datalist id={`${id}-list`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      <Hint id={id} text={hint} />
      <Wrong id={id} problem={problem} />
    </div>
  );
}

/** A whole number. A digit that would exceed `most` is ignored. */
export function Numeric(
  props: Base & {
    value: number | null | undefined;
    set: (value: number | null) => void;
    most: number;
    optional?: boolean;
  },
) {
  const { value, set, most, ...rest } = props;
  return (
    <Text
      {...rest}
      machine
      numeric
      longest={String(most).length}
      value={value ? String(value) : ""}
      set={(typed) => set(digits(typed, most))}
    />
  );
}

/** A password: it can be shown, and a stored one need not be typed again. */
export function Secret(
  props: Base & {
    value: string | undefined;
    set: (value: string) => void;
    fresh?: boolean;
    children?: ComponentChildren;
  },
) {
  const { path, label, value = "", children } = props;
  const { kept } = useStore(wizard);
  const [shown, show] = useState(false);
  const id = idOf(path);
  const problem = useProblem(path);
  const hint = kept.includes(path) && value === "" ? t("setup.kept") : props.hint;
  return (
    <div class="field">
      <Label id={id} label={label} />
      <div class="joined">
        <input
          id={id}
          dir="ltr"
          class="machine"
          type={(shown ? "text" : "password") as "password"}
          value={value}
          autocomplete={props.fresh ? "new-password" : "off"}
          autocapitalize="none"
          spellcheck={false}
          maxLength={1024}
          aria-invalid={problem !== null}
          aria-describedby={describedBy(id, hint !== undefined, problem)}
          onInput={(event) => props.set(event.currentTarget.value)}
        />
        <button
          type="button"
          class="button"
          aria-label={`${shown ? t("setup.hide") : t("login.show")}: ${label}`}
          onClick={() => show(!shown)}
        >
          {shown ? t("setup.hide") : t("login.show")}
        </button>
      </div>
      <Hint id={id} text={hint} />
      <Wrong id={id} problem={problem} />
      {children}
    </div>
  );
}

/** A choice; unavailable options are greyed. */
export function Select(
  props: Base & {
    value: string;
    set: (value: string) => void;
    options: readonly { value: string; text: string; off?: boolean }[];
  },
) {
  const { path, label, hint, value, set, options } = props;
  const id = idOf(path);
  const problem = useProblem(path);
  return (
    <div class="field">
      <Label id={id} label={label} />
      <select
        id={id}
        value={value}
        aria-invalid={problem !== null}
        aria-describedby={describedBy(id, hint !== undefined, problem)}
        onChange={(event) => set(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.off}>
            {option.text}
          </option>
        ))}
      </select>
      <Hint id={id} text={hint} />
      <Wrong id={id} problem={problem} />
    </div>
  );
}

export function Check(props: Base & { value: boolean; set: (value: boolean) => void }) {
  const { path, label, value, set } = props;
  const id = idOf(path);
  const problem = useProblem(path);
  return (
    <div class="check-field">
      <label class="check">
        <input
          id={id}
          type="checkbox"
          checked={value}
          aria-describedby={describedBy(id, false, problem)}
          onChange={(event) => set(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <Wrong id={id} problem={problem} />
    </div>
  );
}

/** A choice among a few options, each with a sentence. */
export function Cards(
  props: Base & {
    value: string;
    set: (value: string) => void;
    options: readonly { value: string; title: string; text?: string; lang?: string }[];
  },
) {
  const { path, label, value, set, options } = props;
  const id = idOf(path);
  const problem = useProblem(path);
  return (
    <fieldset class="cards" aria-describedby={describedBy(id, false, problem)}>
      <legend>{label}</legend>
      <div class="cards-room">
        {options.map((option) => (
          <label key={option.value} class="choice-card">
            <input
              type="radio"
              name={id}
              value={option.value}
              checked={option.value === value}
              onChange={() => set(option.value)}
            />
            <span>
              <strong lang={option.lang} dir={option.lang === undefined ? undefined : "auto"}>
                {option.title}
              </strong>
              {option.text !== undefined && <span class="hint">{option.text}</span>}
            </span>
          </label>
        ))}
      </div>
      <Wrong id={id} problem={problem} />
    </fieldset>
  );
}

/** A choice of several options. */
export function Checks(
  props: Base & {
    value: readonly string[];
    set: (value: string[]) => void;
    options: readonly (readonly [string, string])[];
  },
) {
  const { path, label, hint, value, set, options } = props;
  const id = idOf(path);
  const problem = useProblem(path);
  return (
    <fieldset class="checks" aria-describedby={describedBy(id, hint !== undefined, problem)}>
      <legend>{label}</legend>
      {options.map(([word, text]) => (
        <label key={word} class="check">
          <input
            type="checkbox"
            checked={value.includes(word)}
            onChange={(event) =>
              set(
                event.currentTarget.checked
                  ? [...value, word]
                  : value.filter((other) => other !== word),
              )
            }
          />
          <span>{text}</span>
        </label>
      ))}
      <Hint id={id} text={hint} />
      <Wrong id={id} problem={problem} />
    </fieldset>
  );
}

/** Addresses, separated by spaces. Text stays unchanged during typing. */
export function Addresses(
  props: Base & {
    value: readonly string[] | undefined;
    set: (value: string[]) => void;
    list: (typed: string) => string[];
  },
) {
  const { value = [], set, list, ...rest } = props;
  const [typed, setTyped] = useState(value.join(" "));
  const shown = list(typed).join(" ") === value.join(" ") ? typed : value.join(" ");
  return (
    <Text
      {...rest}
      machine
      value={shown}
      set={(text) => {
        setTyped(text);
        set(list(text));
      }}
    />
  );
}

/** An item of a list, with a button that removes it. */
export function Item(props: {
  name: string;
  number: number;
  remove: () => void;
  children: ComponentChildren;
}) {
  const name = plain(props.name).trim() || t("setup.unnamed", { number: props.number });
  return (
    <fieldset class="item">
      <legend>
        <bdi>{name}</bdi>
      </legend>
      {props.children}
      <p>
        <button
          type="button"
          class="button"
          aria-label={t("setup.remove.which", { name })}
          onClick={(event) => {
            const after = event.currentTarget.closest("fieldset")?.nextElementSibling;
            props.remove();
            // Removing the last item loses the focus: the focus moves to the next element.
            setTimeout(() => {
              if (document.activeElement === document.body) after?.querySelector("button")?.focus();
            });
          }}
        >
          {t("setup.remove")}
        </button>
      </p>
    </fieldset>
  );
}
