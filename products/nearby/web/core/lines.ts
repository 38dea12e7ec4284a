// A stream of JSON, a line each, cut anywhere.

import type { Said } from "./types";

/** Longest incomplete line, in characters: a longer one is not a message. */
const LONGEST = 1 << 20;

export class Lines {
  #begun = "";

  /** Returns the messages completed by this piece. Skips malformed lines. */
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
