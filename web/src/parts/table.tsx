// A table, sortable by the buttons in its head. The route holds the order, so that a link or a new
// login restores it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ordered, type Sortable } from "../core/order";
import { useStore } from "../core/store";
import { route, setQuery } from "../shell/router";
import { format, t } from "../text";

export interface Column<T> {
  /** Keyword in the route. */
  id: string;
  title: string;
  cell: (row: T) => ComponentChildren;
  /** Sort key; without it, the column is not sortable. */
  by?: (row: T) => Sortable;
  /** Right-aligned, and sorted in descending order at first. */
  numeric?: boolean;
  /** Text of any length: gets the remaining room, and is cut there. */
  text?: boolean;
  /**
   * 1: always shown; 2 to 4: shown as the table gets wider; `narrow`: replaces others if there is
   * little room.
   */
  level?: 1 | 2 | 3 | 4 | "narrow";
}

/** Number of rows drawn at first, and added each time. */
const STEP = 100;

export function Table<T>(props: {
  /** Prefix of its keywords in the route: a view may have two tables. */
  id: string;
  caption: string;
  /** The first column names the row. */
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** Column of the initial order. */
  first: string;
  /** Text without rows. */
  none: string;
  /** Rows folded away until a button below the others shows them. */
  fold?: { has: (row: T) => boolean; title: (count: number) => string };
}) {
  const { query } = useStore(route);
  const [shown, show] = useState(STEP);
  const [open, setOpen] = useState(false);
  const byWord = `${props.id}by`;
  const wayWord = `${props.id}way`;
  const chosen = props.columns.find(
    (column) => column.id === (query[byWord] ?? props.first) && column.by !== undefined,
  );
  const column = chosen ?? props.columns.find((candidate) => candidate.by !== undefined);
  const natural = column?.numeric === true ? "down" : "up";
  const way = query[wayWord] === "up" || query[wayWord] === "down" ? query[wayWord] : natural;
  const sorted =
    column?.by === undefined
      ? props.rows
      : ordered(props.rows, column.by, way === "down", format().language);
  const { fold } = props;
  const folded = fold === undefined ? [] : sorted.filter(fold.has);
  // A button would only replace a single row.
  const folds = folded.length > 1;
  const rest = folds ? sorted.filter((row) => !folded.includes(row)) : sorted;
  const rows = folds && open ? [...rest, ...folded] : rest;
  const sort = (target: Column<T>) => {
    const usual = target.numeric === true ? "down" : "up";
    const other = usual === "down" ? "up" : "down";
    setQuery({
      [byWord]: target.id,
      [wayWord]: target === column && way === usual ? other : usual,
    });
  };
  if (sorted.length === 0) return <p class="nothing">{props.none}</p>;
  return (
    <>
      <div class="table-room" role="group" aria-label={props.caption} tabIndex={0}>
        <table>
          <caption class="hidden">{props.caption}</caption>
          <thead>
            <tr>
              {props.columns.map((head) => (
                <Head
                  key={head.id}
                  column={head}
                  way={head === column ? way : null}
                  sort={() => sort(head)}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row) => (
              <tr key={props.rowKey(row)}>
                {props.columns.map((cell, index) =>
                  index === 0 ? (
                    <th scope="row" key={cell.id} class={classes(cell)}>
                      {cell.cell(row)}
                    </th>
                  ) : (
                    <td key={cell.id} class={classes(cell)}>
                      {cell.cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {folds && (
        <p class="more">
          <button
            type="button"
            class="button"
            aria-expanded={open}
            onClick={() => {
              show(Math.max(STEP, rest.length + STEP));
              setOpen(!open);
            }}
          >
            {fold?.title(folded.length)}
          </button>
        </p>
      )}
      {rows.length > shown && (
        <p class="more">
          <button type="button" class="button" onClick={() => show(shown + STEP)}>
            {t("common.more")}
          </button>{" "}
          {t("common.shown", { shown: format().count(shown), total: format().count(rows.length) })}
        </p>
      )}
    </>
  );
}

const classes = (column: { numeric?: boolean; text?: boolean; level?: number | string }) =>
  [
    column.numeric === true ? "number" : "",
    column.text === true ? "text" : "",
    `level-${column.level ?? 1}`,
  ].join(" ");

function Head<T>({
  column,
  way,
  sort,
}: {
  column: Column<T>;
  way: string | null;
  sort: () => void;
}) {
  const sorted = way === null ? "none" : way === "down" ? "descending" : "ascending";
  return (
    <th
      scope="col"
      class={classes(column)}
      aria-sort={column.by === undefined ? undefined : sorted}
    >
      {column.by === undefined ? (
        column.title
      ) : (
        <button type="button" class={`sort ${way ?? ""}`} onClick={sort}>
          {column.title}
          <svg viewBox="0 0 10 12" aria-hidden="true" focusable="false">
            <path class="sort-up" d="M5 1 8.500 5h-7z" />
            <path class="sort-down" d="M5 11 1.500 7h7z" />
          </svg>
        </button>
      )}
    </th>
  );
}
