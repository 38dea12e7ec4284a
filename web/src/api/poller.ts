// Polls as `core/poll.ts` decides: the clock and the page's visibility are here.
import { useEffect, useState } from "preact/hooks";
import { next, type PollEvent, polling } from "../core/poll";
import { Failure, get } from "./client";

export class Poller {
  #state;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #asking = false;
  readonly #onVisibility = () => this.#happened(document.hidden ? "hidden" : "shown");

  /** `ask` fetches and stores the answer; it throws on failure. */
  constructor(
    readonly usual: number,
    readonly ask: () => Promise<void>,
    readonly failed: (failure: Failure) => void,
  ) {
    this.#state = polling(usual, !document.hidden);
    document.addEventListener("visibilitychange", this.#onVisibility);
    if (!document.hidden) void this.#go();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#onVisibility);
  }

  #happened(event: PollEvent): void {
    const [state, wait] = next(this.#state, event);
    this.#state = state;
    clearTimeout(this.#timer);
    if (wait !== null && !this.#stopped) this.#timer = setTimeout(() => void this.#go(), wait);
  }

  async #go(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    let event: PollEvent = "answered";
    try {
      await this.ask();
    } catch (error) {
      event = "failed";
      if (!this.#stopped)
        this.failed(error instanceof Failure ? error : new Failure(0, String(error), ""));
    }
    this.#asking = false;
    if (!this.#stopped) this.#happened(event);
  }
}

/** State of a resource in a view. An error keeps the former data. */
export interface Resource<T> {
  data: T | null;
  failure: Failure | null;
  retry: () => void;
}

/** Follows `GET /api/v1/path?query` while the component is shown. */
export function useResource<T>(
  path: string,
  query: Record<string, string>,
  every: number,
): Resource<T> {
  const key = JSON.stringify([path, query]);
  const [held, hold] = useState<{ key: string; data: T | null; failure: Failure | null }>({
    key,
    data: null,
    failure: null,
  });
  const [tries, setTries] = useState(0);
  // `key` is path and query by value; `tries` forces a new request.
  useEffect(() => {
    let gone = false;
    const poller = new Poller(
      every,
      async () => {
        const data = await get<T>(path, query);
        if (!gone) hold({ key, data, failure: null });
      },
      (failure) => {
        if (!gone) hold((now) => ({ key, data: now.key === key ? now.data : null, failure }));
      },
    );
    return () => {
      gone = true;
      poller.stop();
    };
  }, [key, every, tries]);
  const own = held.key === key;
  return {
    data: own ? held.data : null,
    failure: own ? held.failure : null,
    retry: () => setTries(tries + 1),
  };
}
