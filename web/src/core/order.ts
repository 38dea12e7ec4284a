// Order and selection of table rows.

/** Sort key of a column. Absent values come last, in both directions. */
export type Sortable = number | string | null | undefined;

/**
 * Rows sorted by a value of each; equal rows keep their order. Does not change the given array.
 */
export function ordered<T>(
  rows: readonly T[],
  by: (row: T) => Sortable,
  descending: boolean,
  language: string,
): T[] {
  // With `numeric`, 192.168.1.9 comes before 192.168.1.10.
  const collator = new Intl.Collator(language, { numeric: true, sensitivity: "base" });
  const sign = descending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort(({ value: a }, { value: b }) => {
      const missing = Number(a === null || a === undefined) - Number(b === null || b === undefined);
      if (missing !== 0) return missing;
      if (typeof a === "number" && typeof b === "number") return sign * (a - b);
      if (a === null || a === undefined) return 0;
      return sign * collator.compare(String(a), String(b));
    })
    .map(({ row }) => row);
}

/** True if every typed word occurs in one of the texts. */
export function matches(typed: string, texts: readonly (string | null | undefined)[]): boolean {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const all = texts.filter(Boolean).join("\n").toLowerCase();
  return words.every((word) => all.includes(word));
}
