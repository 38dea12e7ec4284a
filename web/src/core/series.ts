// Rates of the last minutes, kept in the page: the daemon tells only those of now.

/** One look: when (seconds since 1970), and bits a second each way. */
export interface Sample {
  time: number;
  down: number;
  up: number;
}

/** Points of one series: ten minutes at a look every two seconds. */
export const LONGEST = 300;

/**
 * Series kept at once. A page left open in a network where addresses change must not grow for ever.
 */
export const SERIES = 512;

/**
 * A look later than this after the one before begins after a gap: nobody was looking in between.
 */
const GAP = 15;

/** Adds a look; forgets the oldest. A clock that was set back begins the series anew. */
export function append(series: Sample[], sample: Sample): Sample[] {
  const last = series.at(-1);
  if (last !== undefined && sample.time < last.time) return [sample];
  if (last !== undefined && sample.time === last.time) return [...series.slice(0, -1), sample];
  return [...series.slice(-(LONGEST - 1)), sample];
}

/**
 * Columns for a chart; where nobody looked there is a point without values, so that no line crosses
 * it.
 */
export function columns(series: Sample[]): [number[], (number | null)[], (number | null)[]] {
  const times: number[] = [];
  const down: (number | null)[] = [];
  const up: (number | null)[] = [];
  let before: number | undefined;
  for (const sample of series) {
    if (before !== undefined && sample.time - before > GAP) {
      times.push(before + 1);
      down.push(null);
      up.push(null);
    }
    times.push(sample.time);
    down.push(sample.down);
    up.push(sample.up);
    before = sample.time;
  }
  return [times, down, up];
}

/** Series by name, those not heard of for longest forgotten first. */
export class Recorder {
  readonly #series = new Map<string, Sample[]>();

  add(name: string, sample: Sample): void {
    const series = append(this.#series.get(name) ?? [], sample);
    // Put behind the others: a Map keeps the order in which names came.
    this.#series.delete(name);
    this.#series.set(name, series);
    while (this.#series.size > SERIES) {
      const [oldest] = this.#series.keys();
      if (oldest === undefined) break;
      this.#series.delete(oldest);
    }
  }

  get(name: string): Sample[] {
    return this.#series.get(name) ?? [];
  }

  /**
   * What follows `before` in the names of series that were heard of at `since` or later, in
   * alphabetical order.
   */
  names(before: string, since: number): string[] {
    const found = [...this.#series].filter(
      ([name, series]) => name.startsWith(before) && (series.at(-1)?.time ?? 0) >= since,
    );
    return found.map(([name]) => name.slice(before.length)).sort();
  }
}

/**
 * Bits a second between two readings of a counter of bytes; null where the counter began anew or
 * no time went by.
 */
export function rateBetween(before: number, after: number, seconds: number): number | null {
  return seconds > 0 && after >= before ? ((after - before) * 8) / seconds : null;
}
