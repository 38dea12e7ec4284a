// A value that components observe.
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

  /** Registers a callback for changes; returns a function that removes it. */
  follow(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}

/** Returns the current value; redraws the component when the value changes. */
export function useStore<T>(store: Store<T>): T {
  const [, draw] = useState({});
  const drawn = store.get();
  useEffect(() => {
    // The value may have changed since drawing: effects run later.
    if (!Object.is(store.get(), drawn)) draw({});
    return store.follow(() => draw({}));
  }, [store]);
  return drawn;
}
