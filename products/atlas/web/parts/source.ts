// Requests to the atlas: without cookies, each address once, the latest answers cached.

import type { Say } from "../text";

/** Characters that an answer may have. */
const MOST = 4_000_000;
const KEPT = 32;
const PATIENCE = 30_000;

/** A failure, in words for readers. */
export class Failure extends Error {}

const answers = new Map<string, Promise<string>>();

/** The text at an address. */
export function ask(url: string, say: Say): Promise<string> {
  const known = answers.get(url);
  if (known !== undefined) {
    answers.delete(url);
    answers.set(url, known);
    return known;
  }
  const answer = fetched(url, say);
  answers.set(url, answer);
  answer.catch(() => answers.delete(url));
  for (const old of answers.keys()) {
    if (answers.size <= KEPT) break;
    answers.delete(old);
  }
  return answer;
}

async function fetched(url: string, say: Say): Promise<string> {
  let response: Response;
  let text: string;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    response = await fetch(url, { credentials: "omit", signal });
    text = await response.text();
  } catch {
    throw new Failure(say("unreachable"));
  }
  if (!response.ok)
    throw new Failure(reason(text) ?? say("answer", { status: String(response.status) }));
  if (text.length > MOST) throw new Failure(say("noPicture"));
  return text;
}

/** The atlas's own error text. */
function reason(text: string): string | undefined {
  try {
    const { error, hint } = JSON.parse(text);
    const said = [error, hint].filter((part) => typeof part === "string" && part !== "");
    return said.length > 0 ? said.join("; ").slice(0, 300) : undefined;
  } catch {
    return undefined;
  }
}

export async function askJson(url: string, say: Say): Promise<unknown> {
  const text = await ask(url, say);
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure(say("noPicture"));
  }
}

export const why = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
