// Rates of the last minutes, stored in the page: the daemon reports only current ones.

/** A sample: time (seconds since 1970), and bits per second in each direction. */
export interface Sample {
  time: number;
  down: number;
  up: number;
}

/** Most points of a series: ten minutes at a poll every two seconds. */
export const LONGEST = 300;

/**
 * Most stored series. A page left open in a network with changing addresses must not grow for ever.
 */
export const SERIES = 512;

/**
 * Longest pause between samples without a gap, in seconds: polling had stopped in between.
 */
const GAP = 15;

/** Adds a sample; drops the oldest. If the clock was set back, the series restarts. */
export function append(series: Sample[], sample: Sample): Sample[] {
  const last = series.at(-1);
  if (last !== undefined && sample.time < last.time) return [sample];
  if (last !== undefined && sample.time === last.time) return [...series.slice(0, -1), sample];
  return [...series.slice(-(LONGEST - 1)), sample];
}

/**
 * Columns for a chart; a gap gets a point without values, so that no line crosses it.
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

/** Series by name; the longest unchanged series are dropped first. */
export class Recorder {
  readonly #series = new Map<string, Sample[]>();

  add(name: string, sample: Sample): void {
    const series = append(this.#series.get(name) ?? [], sample);
    // Moved behind the others: a Map keeps the order of insertion.
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
   * Rest of each series name that begins with `before`, if the series has a sample at `since` or
   * later, in alphabetical order.
   */
  names(before: string, since: number): string[] {
    const found = [...this.#series].filter(
      ([name, series]) => name.startsWith(before) && (series.at(-1)?.time ?? 0) >= since,
    );
    return found.map(([name]) => name.slice(before.length)).sort();
  }
}

/**
 * Bits per second between two readings of a byte counter; null if the counter restarted or no time
 * passed.
 */
export function rateBetween(before: number, after: number, seconds: number): number | null {
  return seconds > 0 && after >= before ? ((after - before) * 8) / seconds : null;
}
