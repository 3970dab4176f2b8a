/**
 * What a page has and node lacks, as far as the modules under test use it: events, a clock that the test turns, sockets
 * that the test answers, and a few kinds of elements.
 */

import { setImmediate as settled } from "node:timers/promises";

export const WEB = new URL("../../src/handrail/web/js/", import.meta.url);

/** Numbers that look random and are the same each time. @param {number} seed */
export function randomNumbers(seed) {
  let state = seed;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  return { next, below: (/** @type {number} */ most) => Math.floor(next() * most) };
}

/** Takes the place of the timers and of `Date.now`; nothing happens until `pass`. */
export class Clock {
  #now = 1_700_000_000_000;
  #last = 0;
  /** @type {Map<number, {at: number, every: number | null, work: () => void}>} */
  #timers = new Map();

  constructor() {
    Date.now = () => this.#now;
    globalThis.setTimeout = (work, ms = 0) => this.#set(work, ms, null);
    globalThis.setInterval = (work, ms) => this.#set(work, ms, ms);
    globalThis.clearTimeout = globalThis.clearInterval = (id) => void this.#timers.delete(id);
  }

  #set(work, ms, every) {
    this.#last += 1;
    this.#timers.set(this.#last, { at: this.#now + ms, every, work });
    return this.#last;
  }

  /** Let so many milliseconds pass, and do all that is due, in order. */
  async pass(ms) {
    const end = this.#now + ms;
    await settled();
    for (let due = this.#due(end); due; due = this.#due(end)) {
      const [id, timer] = due;
      this.#now = timer.at;
      if (timer.every === null) this.#timers.delete(id);
      else timer.at += timer.every;
      timer.work();
      await settled();
    }
    this.#now = end;
  }

  #due(end) {
    const [first] = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at);
    return first;
  }
}

/** The hub's end of a socket is in the hands of the test. */
export class Socket {
  static OPEN = 1;
  /** @type {Socket[]} every socket so far, oldest first */
  static all = [];

  static get last() {
    return Socket.all.at(-1);
  }

  constructor(url) {
    this.url = url;
    this.readyState = 0;
    /** @type {any[]} */
    this.sent = [];
    Socket.all.push(this);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.readyState = 2;
    queueMicrotask(() => this.drop());
  }

  // ------------------------------------------------ what the hub does

  accept() {
    this.readyState = Socket.OPEN;
  }

  say(message) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  /** Accept, and greet. */
  welcome() {
    this.accept();
    this.say({ type: "hello", version: "1", server_time: Date.now() / 1000, me: { name: "maria", role: "owner" } });
  }

  drop() {
    this.readyState = 3;
    this.onclose?.();
  }

  /** What was sent of this type. */
  of(type) {
    return this.sent.filter((message) => message.type === type);
  }
}

/** Stands for any element: `matches` are the selectors that it, or something around it, fits. */
export class Element extends EventTarget {
  isContentEditable = false;

  constructor(...matches) {
    super();
    this.matches = matches;
  }

  closest(selector) {
    return selector.split(", ").some((each) => this.matches.includes(each)) ? this : null;
  }
}

export class Input extends Element {
  type = "text";
}
export class TextArea extends Element {}
export class Select extends Element {}

/** Make the globals of a page, anew. */
export function makePage() {
  Socket.all = [];
  const document = Object.assign(new EventTarget(), { hidden: false, querySelector: () => null });
  Object.assign(globalThis, {
    document,
    window: new EventTarget(),
    location: { protocol: "http:", host: "127.0.0.1:4280" },
    WebSocket: Socket,
    HTMLElement: Element,
    HTMLInputElement: Input,
    HTMLTextAreaElement: TextArea,
    HTMLSelectElement: Select,
  });
  return { document: globalThis.document, window: globalThis.window };
}
