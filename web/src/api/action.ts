// A one-time request to the router, started by a button.
import { useState } from "preact/hooks";
import { Failure } from "./client";

export interface Action<T> {
  busy: boolean;
  done: T | null;
  failure: Failure | null;
  /** Starts the work, unless it is running. */
  run: (work: () => Promise<T>) => Promise<T | null>;
}

export function useAction<T>(): Action<T> {
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState<T | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const run = async (work: () => Promise<T>) => {
    if (busy) return null;
    setBusy(true);
    setFailure(null);
    setDone(null);
    let answer: T | null = null;
    try {
      answer = await work();
      setDone(answer);
    } catch (error) {
      setFailure(error instanceof Failure ? error : new Failure(0, "", ""));
    }
    setBusy(false);
    return answer;
  };
  return { busy, done, failure, run };
}
