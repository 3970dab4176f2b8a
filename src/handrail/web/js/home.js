/**
 * What the hub tells about all sessions: the list, everything that waits for a person, and what was just answered.
 */

/** @import { Card, ClosedAsk, Counts, HomeMessage, Session } from "./types.js" */

import { isOpen } from "./asks/head.js";
import { Store } from "./store.js";

const KEPT_ANSWERED = 50;
/** Asks whose process ended: an answer starts it again. */
const RESUMABLE = new Set(["lost", "unsent"]);

/** The name of an ask among those of all sessions. @param {string} session @param {string} ask */
export function askKey(session, ask) {
  return `${session}/${ask}`;
}

export class Home {
  /** Whether the first list has come. */
  loaded = new Store(false);
  /** @type {Store<Map<string, Session>>} */
  sessions = new Store(new Map());
  /** Whether there are sessions that the list leaves out, the oldest ones. */
  more = false;
  /** Pending and lost asks. @type {Store<Map<string, Card>>} */
  asks = new Store(new Map());
  /** Asks that were closed while this page was open, with what became of them. @type {Store<Map<string, Card>>} */
  answered = new Store(new Map());
  /** @type {Store<Counts>} */
  counts = new Store({ needs_you: 0, running: 0, idle: 0, failed: 0, stopped: 0 });

  /** Called with each ask that was not there before. @type {Set<(card: Card) => void>} */
  #newAsk = new Set();

  /** @param {(card: Card) => void} listener @returns {() => void} */
  onNewAsk(listener) {
    this.#newAsk.add(listener);
    return () => void this.#newAsk.delete(listener);
  }

  /** The oldest first. @returns {Card[]} */
  waiting() {
    return [...this.asks.value.values()].sort((a, b) => a.opened_at - b.opened_at);
  }

  /** @param {HomeMessage} message */
  receive(message) {
    this.#takeSessions(message);
    this.#takeAsks(message);
    if (message.more !== undefined) this.more = message.more;
    if (message.counts) this.counts.set(message.counts);
    this.loaded.set(true);
  }

  /** An answer of our own was accepted: the card is over now, whenever the stream says so. */
  /** @param {ClosedAsk} closed */
  close(closed) {
    if (this.#close(closed)) this.asks.changed();
    this.answered.changed();
  }

  /** Nothing is known any more: somebody else signs in. */
  clear() {
    this.receive({ type: "home", reset: true });
    this.answered.set(new Map());
    this.loaded.set(false);
  }

  /** @param {HomeMessage} message */
  #takeSessions({ reset, sessions = [], removed_sessions: removed = [] }) {
    if (!reset && !sessions.length && !removed.length) return;
    const known = reset ? new Map() : this.sessions.value;
    for (const session of sessions) known.set(session.id, session);
    for (const id of removed) known.delete(id);
    this.sessions.set(known);
    this.sessions.changed();
  }

  /** @param {HomeMessage} message */
  #takeAsks({ reset, asks = [], closed_asks: closed = [], removed_sessions: removed = [] }) {
    if (!reset && !asks.length && !closed.length && !removed.length) return;
    const before = this.asks.value;
    if (reset) this.asks.set(new Map());
    for (const each of closed) this.#close(each);
    // A card says more than a notice: an ask that was lost with its process is over, and can be answered nevertheless.
    const fresh = asks.filter((card) => this.#open(card) && !before.has(askKey(card.session, card.ask_id)));
    for (const [key, card] of this.asks.value) if (removed.includes(card.session)) this.asks.value.delete(key);
    this.asks.changed();
    this.answered.changed();
    if (this.loaded.value) for (const card of fresh) for (const listener of this.#newAsk) listener(card);
  }

  /** @param {Card} card */
  #open(card) {
    const key = askKey(card.session, card.ask_id);
    if (!isOpen(card)) return (this.#keep(key, card), false);
    // The snapshot may be older than the answer that we just gave.
    if (this.answered.value.has(key) && card.state === "pending") return false;
    this.asks.value.set(key, card);
    this.answered.value.delete(key);
    return true;
  }

  /** @param {ClosedAsk} closed */
  #close({ session, ask, ...how }) {
    const key = askKey(session, ask);
    const card = this.asks.value.get(key) ?? this.answered.value.get(key);
    if (!card) return false;
    const answerable = RESUMABLE.has(how.outcome);
    const over = { ...card, state: how.outcome, answerable, resumes: answerable, closed: { ...card.closed, ...how } };
    if (answerable) this.asks.value.set(key, over);
    else this.#keep(key, over);
    return true;
  }

  /** @param {string} key @param {Card} card */
  #keep(key, card) {
    this.asks.value.delete(key);
    this.answered.value.set(key, card);
    for (const oldest of this.answered.value.keys()) {
      if (this.answered.value.size <= KEPT_ANSWERED) break;
      this.answered.value.delete(oldest);
    }
  }
}
