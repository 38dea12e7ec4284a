// Requests of the page to the program.

import { Lines } from "../core/lines";
import type { Answer, Message, Peer, Said } from "../core/types";

/** Longest silence, ms: the program sends an event every five seconds. */
const SILENT = 15_000;
/** First and longest pause before another attempt, ms. */
const AGAIN = [1_000, 15_000] as const;

/** Reason for a refusal, in the program's words. */
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

/** Peers, and the program's time. */
export async function peers(): Promise<{ peers: Peer[]; now: number }> {
  const answer = await ask("/api/peers");
  const now = Date.parse(answer.headers.get("date") ?? "");
  const { peers } = (await answer.json()) as { peers: Peer[] };
  return { peers, now: Number.isNaN(now) ? Date.now() : now };
}

export async function past(): Promise<Message[]> {
  return ((await (await ask("/api/past")).json()) as { messages: Message[] }).messages;
}

/** Sends a message. Returns the numbers of near recipients and of waiting ones. */
export async function speak(to: string, text: string): Promise<Answer> {
  return (await (await post("/api/messages", { to, text })).json()) as Answer;
}

export async function enter(token: string): Promise<void> {
  await post("/api/login", { token });
}

/** Callbacks of a listener. */
export interface Ears {
  /** The stream is connected. */
  on(): void;
  said(said: Said): void;
  /** The stream is disconnected. */
  off(): void;
  /** A token is required: listening continues when the returned promise resolves. */
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

/** Listens until the stream ends. */
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
