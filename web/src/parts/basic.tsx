// Small parts of every view.
import type { ComponentChildren } from "preact";
import { useEffect, useId } from "preact/hooks";
import { plain } from "../core/plain";
import { GoodIcon, InfoIcon, WarnIcon } from "../shell/icons";

/** Start of an isolated name in a text of the page (UAX 9: FSI). */
const ISOLATED = "\u2068";

/**
 * Heading of a view, and title of the browser's window. Gets the focus after a change of view.
 */
export function Title({
  text,
  above,
  children,
}: {
  text: string;
  above?: ComponentChildren;
  children?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${text} · weir`;
  }, [text]);
  return (
    <div class="title">
      {above}
      <h1 tabIndex={-1}>
        {/* A name goes its own way; a text of the page with names in it goes the page's. */}
        {text.includes(ISOLATED) ? text : <bdi>{text}</bdi>}
      </h1>
      {children}
    </div>
  );
}

/**
 * A surface with a heading. `wide` is its share of twelve columns, if there is room for columns.
 */
export function Card(props: {
  title: string;
  wide?: number;
  action?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class={`card span-${props.wide ?? 12} ${props.class ?? ""}`} aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{props.title}</h2>
        {props.action}
      </header>
      {props.children}
    </section>
  );
}

/** Untrusted text. `bdi` isolates its direction of writing. */
export function Name({ text }: { text: string }) {
  return <bdi class="name">{plain(text)}</bdi>;
}

/** Pairs of label and value. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const NOTICES = { info: InfoIcon, warn: WarnIcon, bad: WarnIcon, good: GoodIcon };

export function Notice({
  kind,
  children,
}: {
  kind: keyof typeof NOTICES;
  children: ComponentChildren;
}) {
  const Icon = NOTICES[kind];
  return (
    <div class={`notice ${kind}`}>
      <Icon />
      <div>{children}</div>
    </div>
  );
}

/** A choice among few options, with its label. A `fixed` one is read-only. */
export function Choice(props: {
  id: string;
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  choose: (value: string) => void;
  fixed?: boolean;
}) {
  return (
    <div class="field">
      <label for={props.id}>{props.label}</label>
      <select
        id={props.id}
        value={props.value}
        disabled={props.fixed}
        onChange={(event) => props.choose(event.currentTarget.value)}
      >
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A choice among two or three visible options: radio buttons in the form of one switch. */
export function Segments(props: {
  name: string;
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  choose: (value: string) => void;
}) {
  return (
    <fieldset class="segments">
      <legend>{props.label}</legend>
      <div class="segment-row">
        {props.options.map(([value, text]) => (
          <label key={value}>
            <input
              type="radio"
              name={props.name}
              value={value}
              checked={value === props.value}
              onChange={() => props.choose(value)}
            />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/**
 * A field for a line of text, or with `numeric` for a number; `wrong` is its error. A `fixed` field
 * is read-only.
 */
export function Field(props: {
  id: string;
  label: string;
  value: string;
  set: (value: string) => void;
  numeric?: boolean;
  fixed?: boolean;
  hint?: string;
  wrong?: string | null;
}) {
  const { id, label, value, set, numeric = false, fixed = false, hint, wrong = null } = props;
  const described = [hint !== undefined && `${id}-hint`, wrong !== null && `${id}-wrong`];
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        inputMode={numeric ? "numeric" : "text"}
        autocomplete="off"
        maxLength={200}
        value={value}
        readOnly={fixed}
        aria-invalid={wrong !== null}
        aria-describedby={described.filter(Boolean).join(" ") || undefined}
        onInput={(event) => set(event.currentTarget.value)}
      />
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {wrong !== null && (
        <p class="hint" id={`${id}-wrong`} role="alert">
          {wrong}
        </p>
      )}
    </div>
  );
}

/** Search field for rows. */
export function Search({
  id,
  label,
  value,
  set,
}: {
  id: string;
  label: string;
  value: string;
  set: (value: string) => void;
}) {
  return (
    <div class="field search">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => set(event.currentTarget.value)}
      />
    </div>
  );
}

/** A bar for a share, 0 to 1; the text beside it names the quantity. */
export function Meter({ share, kind }: { share: number; kind?: string }) {
  const width = `${Math.min(Math.max(share, 0), 1) * 100}%`;
  return (
    <span class="meter" aria-hidden="true">
      <span class={kind ?? ""} style={{ width }} />
    </span>
  );
}
