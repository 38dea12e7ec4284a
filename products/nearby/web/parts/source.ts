// What the page asks of the program.

import { Lines } from "../core/lines";
import type { Answer, Message, Peer, Said } from "../core/types";

/** How long it may be silent: it says something each five seconds, ms. */
const SILENT = 15_000;
/** How long is waited before it is tried again, at first and at most, ms. */
const AGAIN = [1_000, 15_000] as const;

/** Why something was not done, as the program says it. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    why: string,
  ) {
    super(why);
  }
}

async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  const answer = await fetch(path, { cache: "no-store", redirect: "error", ...options });
  if (answer.ok) return answer;
  const problem: unknown = await answer.json().catch(() => undefined);
  const told = (name: string) => {
    const fits = typeof problem === "object" && problem !== null && name in problem;
    return fits ? String((problem as Record<string, unknown>)[name]) : "";
  };
  const detail = [told("detail"), told("hint")].filter((part) => part !== "").join(": ");
  throw new Refused(answer.status, detail === "" ? `HTTP ${answer.status}` : detail);
}

const post = (path: string, body: unknown) =>
  ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** All who are near, and what time it is there. */
export async function peers(): Promise<{ peers: Peer[]; now: number }> {
  const answer = await ask("/api/peers");
  const now = Date.parse(answer.headers.get("date") ?? "");
  const { peers } = (await answer.json()) as { peers: Peer[] };
  return { peers, now: Number.isNaN(now) ? Date.now() : now };
}

export async function past(): Promise<Message[]> {
  return ((await (await ask("/api/past")).json()) as { messages: Message[] }).messages;
}

/** Says something. Gives to how many who are near, and for how many who are not it waits. */
export async function speak(to: string, text: string): Promise<Answer> {
  return (await (await post("/api/messages", { to, text })).json()) as Answer;
}

export async function enter(token: string): Promise<void> {
  await post("/api/login", { token });
}

/** What a listener is told. */
export interface Ears {
  /** It is connected from now on. */
  on(): void;
  said(said: Said): void;
  /** It is not connected any more. */
  off(): void;
  /** A token is asked for: listening goes on when what this gives is done. */
  shut(): Promise<void>;
}

/** Listens for ever. */
export async function listen(ears: Ears): Promise<never> {
  let pause: number = AGAIN[0];
  for (;;) {
    try {
      await hear(ears, () => {
        pause = AGAIN[0];
      });
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        await ears.shut();
        continue;
      }
    }
    ears.off();
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(2 * pause, AGAIN[1]);
  }
}

/** Listens until it ends. */
async function hear(ears: Ears, begun: () => void): Promise<void> {
  const ends = new AbortController();
  let silence = setTimeout(() => ends.abort(), SILENT);
  try {
    const answer = await ask("/api/messages", { signal: ends.signal });
    const reader = answer.body?.getReader();
    if (reader === undefined) return;
    begun();
    ears.on();
    const [decoder, lines] = [new TextDecoder(), new Lines()];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(() => ends.abort(), SILENT);
      for (const said of lines.push(decoder.decode(value, { stream: true }))) ears.said(said);
    }
  } finally {
    clearTimeout(silence);
    ends.abort();
  }
}
