// Client of the server that the page came from, and of no other.
import { Store } from "../core/store";
import type { Problem, Session } from "./types";

/** Longest wait for an answer, ms. */
const PATIENCE = 20_000;

/** Reason for a failed request, and advice. Status 0: there was no answer. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly hint: string,
    /** Keyword of the error. */
    readonly error = "",
  ) {
    super(detail);
  }
}

/** null until the server has answered. */
export const session = new Store<Session | null>(null);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

async function request(path: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      ...init,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE),
    });
    text = await response.text();
  } catch {
    throw new Failure(0, "", "");
  }
  let answer: unknown;
  try {
    answer = text === "" ? {} : JSON.parse(text);
  } catch {
    answer = undefined;
  }
  if (response.ok && answer !== undefined) return answer;
  const problem: Partial<Problem> = isObject(answer) ? answer : {};
  throw new Failure(
    response.status,
    String(problem.detail ?? ""),
    String(problem.hint ?? ""),
    String(problem.error ?? ""),
  );
}

/** Fetches the session again. The token changes with login and logout. */
export async function refreshSession(): Promise<void> {
  const answer = (await request("/api/session", {})) as Session;
  session.set({
    user: answer.user === true,
    password_set: answer.password_set === true,
    csrf: String(answer.csrf),
    local: answer.local !== false,
  });
}

/**
 * Shows the login when a session has ended, also by time. The address stays, so that the user
 * returns to the same view.
 */
function sessionEnded(failure: unknown): void {
  const now = session.get();
  if (failure instanceof Failure && failure.status === 401 && now?.user) {
    session.set({ ...now, user: false });
    // Fetches the token for the next login. If this fails too, the login reports the reason.
    refreshSession().catch(() => {});
  }
}

/** GET below `/api/v1`. */
export async function get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const asked = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  try {
    return (await request(`/api/v1/${path}${asked}`, {})) as T;
  } catch (failure) {
    sessionEnded(failure);
    throw failure;
  }
}

async function post(path: string, body: unknown): Promise<unknown> {
  const send = () =>
    request(`/api/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Weir-Csrf": session.get()?.csrf ?? "" },
      body: JSON.stringify(body),
    });
  try {
    return await send();
  } catch (failure) {
    // The token may be older than the session, for instance after a restart of the daemon: tries
    // once more with a fresh token. A logout meanwhile shows in the fetched session.
    if (failure instanceof Failure && failure.status === 401)
      await refreshSession().catch(() => {});
    if (!(failure instanceof Failure) || failure.status !== 403) throw failure;
    const before = session.get()?.csrf;
    await refreshSession();
    if (session.get()?.csrf === before) throw failure;
    return await send();
  }
}

/** POST below `/api/v1`. */
export async function send<T>(path: string, body: unknown): Promise<T> {
  try {
    return (await post(`v1/${path}`, body)) as T;
  } catch (failure) {
    sessionEnded(failure);
    throw failure;
  }
}

export async function logIn(password: string): Promise<void> {
  await post("login", { password });
  await refreshSession();
}

export async function logOut(): Promise<void> {
  await post("logout", {});
  await refreshSession();
}

/**
 * Sets the password; `old` is null the first time. `claim`: the code from the router's console, if
 * the browser is on another host.
 */
export async function setPassword(
  old: string | null,
  fresh: string,
  claim?: string,
): Promise<void> {
  await post("password", { ...(old !== null && { old }), new: fresh, ...(claim && { claim }) });
  await refreshSession();
}
