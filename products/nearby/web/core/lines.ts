// A stream of JSON, a line each, cut anywhere.

import type { Said } from "./types";

/** Characters of a line that is not finished: what is longer is no message. */
const LONGEST = 1 << 20;

export class Lines {
  #begun = "";

  /** What is whole by this piece. Lines that are no event are passed over. */
  push(piece: string): Said[] {
    const lines = (this.#begun + piece).split("\n");
    this.#begun = lines.pop() ?? "";
    if (this.#begun.length > LONGEST) this.#begun = "";
    return lines.flatMap((line) => {
      const said = read(line);
      return said === undefined ? [] : [said];
    });
  }
}

function read(line: string): Said | undefined {
  try {
    const said: unknown = JSON.parse(line);
    const fits = typeof said === "object" && said !== null && "event" in said;
    return fits ? (said as Said) : undefined;
  } catch {
    return undefined;
  }
}
