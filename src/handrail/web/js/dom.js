/**
 * Making elements, and the base class of ours: rendered at most once per frame, with everything it holds let go of when
 * it leaves the page.
 */

/** @import { Store } from "./store.js" */
/** @import { PageContext } from "./page.js" */

/** @import { Child } from "./types.js" */
/** @typedef {Record<string, any>} Props */

/**
 * An element. Props are attributes, except: `on…` functions are listeners, `class` may be a list with gaps, `dataset`
 * is an object, and `true`/`false`/`null` set or leave out an attribute. `.name` sets the property `name`.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) setProp(element, name, value);
  append(element, children);
  return element;
}

/**
 * One of our own elements, whose properties are set before it is rendered.
 * @template {HTMLElement} E
 * @param {new () => E} kind
 * @param {Partial<E>} [properties]
 * @returns {E}
 */
export function make(kind, properties = {}) {
  return Object.assign(new kind(), properties);
}

/** @param {HTMLElement} element @param {string} name @param {any} value */
function setProp(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "class") element.className = [value].flat().filter(Boolean).join(" ");
  else if (name === "dataset") Object.assign(element.dataset, value);
  else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name.startsWith(".")) Reflect.set(element, name.slice(1), value);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** @param {Node} parent @param {Child[]} children */
export function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || typeof child === "boolean") continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replace what is in `parent`. @param {Element} parent @param {...Child} children */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * Make the children of `parent` those of `items`, in order: existing ones are kept (with focus, selection and scroll
 * position), so only what changed costs anything.
 * @template T
 * @template {HTMLElement} E
 * @param {Element} parent
 * @param {Iterable<T>} items
 * @param {{ key(item: T): string, make(item: T): E, update?(element: E, item: T): void }} how
 */
export function reconcile(parent, items, { key, make, update }) {
  /** @type {Map<string, E>} */
  const present = new Map();
  for (const child of parent.children) {
    const kept = /** @type {E} */ (child);
    if (kept.dataset.key !== undefined) present.set(kept.dataset.key, kept);
  }
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = present.get(name);
    if (element) present.delete(name);
    else {
      element = make(item);
      element.dataset.key = name;
    }
    update?.(element, item);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
  for (const leftover of present.values()) leftover.remove();
}

/** The base of our elements. A subclass has `render()`, and perhaps `mount()`. */
export class HandrailElement extends HTMLElement {
  #frame = 0;
  /** @type {Set<() => void>} */
  #held = new Set();
  /** @type {PageContext | null} */
  #page = null;

  connectedCallback() {
    this.mount();
    // The first time at once: an element that is put into the page has its size then.
    this.render();
  }

  disconnectedCallback() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    for (const release of this.#held) release();
    this.#held.clear();
    this.#page = null;
  }

  /** Called once each time the element enters the page: watch and listen here. */
  mount() {}

  /** Bring what is shown up to date. */
  render() {}

  /** Have `render` called before the next frame, once, however often this is called. */
  update() {
    if (this.#frame || !this.isConnected) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.isConnected) this.render();
    });
  }

  /** What the whole page shares; it belongs to <handrail-app>. @returns {PageContext} */
  get page() {
    if (this.#page) return this.#page;
    const app = /** @type {(Element & { context?: PageContext }) | null} */ (this.closest("handrail-app"));
    if (!app?.context) throw new Error(`<${this.localName}> works inside <handrail-app> only`);
    return (this.#page = app.context);
  }

  /** Call `release` when the element leaves the page. @param {() => void} release */
  hold(release) {
    this.#held.add(release);
  }

  /**
   * Render, or call `then`, whenever `store` changes.
   * @template T
   * @param {Store<T>} store
   * @param {(value: T) => void} [then]
   */
  watch(store, then = () => this.update()) {
    this.hold(store.watch(then));
  }

  /**
   * Listen for as long as the element is in the page.
   * @param {EventTarget} target
   * @param {string} type
   * @param {(event: any) => void} listener
   * @param {AddEventListenerOptions} [options]
   */
  listen(target, type, listener, options) {
    target.addEventListener(type, listener, options);
    this.hold(() => target.removeEventListener(type, listener, options));
  }

  /** Call `tick` every `seconds`, for clocks. @param {number} seconds @param {() => void} tick */
  every(seconds, tick) {
    const timer = setInterval(tick, seconds * 1000);
    this.hold(() => clearInterval(timer));
  }
}
