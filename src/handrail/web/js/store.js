/**
 * A value that can be watched. Whoever makes a store owns it and is the only one to set it.
 */

/** @template T */
export class Store {
  /** @type {T} */
  #value;
  /** @type {Set<(value: T) => void>} */
  #watchers = new Set();

  /** @param {T} value */
  constructor(value) {
    this.#value = value;
  }

  get value() {
    return this.#value;
  }

  /** @param {T} value */
  set(value) {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.changed();
  }

  /** Tell the watchers, also when the value was changed in place. */
  changed() {
    for (const watcher of [...this.#watchers]) watcher(this.#value);
  }

  /**
   * Call `watcher` at every change, until the function that is returned is called.
   * @param {(value: T) => void} watcher
   * @returns {() => void}
   */
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}
