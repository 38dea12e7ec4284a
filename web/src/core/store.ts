// A value that components follow.
import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  #value: T;
  readonly #followers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const follower of [...this.#followers]) follower();
  }

  /** Calls back after each change; returns how to stop that. */
  follow(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}

/** The value of now; the component is drawn again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, draw] = useState({});
  const drawn = store.get();
  useEffect(() => {
    // It may have changed since this was drawn: effects come later.
    if (!Object.is(store.get(), drawn)) draw({});
    return store.follow(() => draw({}));
  }, [store]);
  return drawn;
}
