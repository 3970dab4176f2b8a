/**
 * One WebSocket for the whole page. Sessions and the home list are followed over it; after a break it goes on where it
 * was, so that nothing is missed and nothing comes twice.
 */

/** @import { HomeMessage, LiveMessage, Me, SessionMessage } from "./types.js" */

import { Store } from "./store.js";

/**
 * connecting: not open yet, for the first time. open: all is well. lost: reconnecting. catching_up: open again, what
 * was missed is on its way. signed_out: the hub does not know us.
 * @typedef {"connecting" | "open" | "lost" | "catching_up" | "signed_out"} Connection
 */

/**
 * @typedef {object} Follow
 * @property {"view" | "events"} as
 * @property {boolean} deltas
 * @property {number | null} after what has been seen; null for the snapshot of the end
 * @property {number} acked
 * @property {boolean} waiting whether nothing has come since it was asked for
 * @property {(message: SessionMessage) => void} receive
 */

const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 10_000;
const PING_MS = 20_000;
const SILENCE_MS = 45_000;
const ACK_MS = 200;

export class Live {
  /** @type {Store<Connection>} */
  connection = new Store(/** @type {Connection} */ ("connecting"));
  /** @type {Store<Me | null>} */
  me = new Store(/** @type {Me | null} */ (null));
  /** How far the hub's clock is ahead of ours, in seconds. */
  ahead = 0;

  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Map<string, Follow>} */
  #follows = new Map();
  /** @type {((message: HomeMessage) => void) | null} */
  #home = null;
  #homeWaiting = false;
  /** Whether the hub said hello on this socket: then it is told what is followed, all at once, and not before. */
  #isGreeted = false;
  #wasOpen = false;
  #failures = 0;
  #lastHeard = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #ackTimer;
  #stillSignedIn;

  /** @param {{ stillSignedIn: () => Promise<boolean> }} how asked when the socket is refused, which says no reason */
  constructor({ stillSignedIn }) {
    this.#stillSignedIn = stillSignedIn;
    document.addEventListener("visibilitychange", () => this.#tellVisibility());
    window.addEventListener("online", () => this.#hurry());
    setInterval(() => this.#checkPulse(), PING_MS);
  }

  // ---------------------------------------------------------------- for the page

  /** Connect, or connect again after signing in. */
  start() {
    clearTimeout(this.#retry);
    this.#failures = 0;
    if (this.connection.value === "signed_out") this.connection.set("connecting");
    this.#open();
  }

  /** Sign off: nothing is tried again until `start`. */
  stop() {
    clearTimeout(this.#retry);
    this.connection.set("signed_out");
    this.#socket?.close(1000);
    this.#socket = null;
  }

  /**
   * Follow a session; a session has one follower, the newest. Returns what ends it.
   * @param {string} session
   * @param {(message: SessionMessage) => void} receive
   * @param {{ as?: "view" | "events", deltas?: boolean, after?: number | null }} [how]
   * @returns {() => void}
   */
  follow(session, receive, { as = "view", deltas = true, after = null } = {}) {
    /** @type {Follow} */
    const follow = { as, deltas, after, acked: after ?? 0, waiting: true, receive };
    this.#follows.set(session, follow);
    this.#sendFollow(session, follow);
    return () => {
      if (this.#follows.get(session) !== follow) return;
      this.#follows.delete(session);
      this.#send({ type: "unfollow", session });
    };
  }

  /**
   * Follow the home list: sessions, and everything that waits.
   * @param {(message: HomeMessage) => void} receive
   * @returns {() => void}
   */
  followHome(receive) {
    this.#home = receive;
    this.#sendHome();
    return () => {
      if (this.#home !== receive) return;
      this.#home = null;
      this.#send({ type: "home", on: false });
    };
  }

  // ---------------------------------------------------------------- the socket

  #open() {
    if (this.#socket) return;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/api/live`);
    this.#socket = socket;
    this.#isGreeted = false;
    this.#lastHeard = Date.now();
    socket.onmessage = (event) => this.#received(socket, event.data);
    socket.onclose = () => void this.#closed(socket);
  }

  /** @param {WebSocket} socket */
  async #closed(socket) {
    if (this.#socket !== socket) return;
    this.#socket = null;
    if (this.connection.value !== "connecting") this.connection.set("lost");
    this.#failures += 1;
    // A socket that is refused does not say why: the API does.
    if (!(await this.#stillSignedIn())) return this.stop();
    if (this.#socket || this.connection.value === "signed_out") return;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#failures - 1));
    this.#retry = setTimeout(() => this.#open(), pause * (0.75 + Math.random() / 2));
  }

  #hurry() {
    if (this.#socket || this.connection.value === "signed_out") return;
    clearTimeout(this.#retry);
    this.#open();
  }

  #checkPulse() {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    if (Date.now() - this.#lastHeard < SILENCE_MS) return this.#send({ type: "ping", n: Date.now() });
    // The network went away without a word; waiting for the close would take minutes.
    socket.onclose = null;
    socket.close();
    void this.#closed(socket);
  }

  /** @param {object} message */
  #send(message) {
    if (this.#isGreeted && this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  // ---------------------------------------------------------------- what comes

  /** @param {WebSocket} socket @param {string} data */
  #received(socket, data) {
    if (this.#socket !== socket) return;
    this.#lastHeard = Date.now();
    /** @type {LiveMessage} */
    const message = JSON.parse(data);
    switch (message.type) {
      case "hello":
        this.me.set(message.me);
        this.ahead = message.server_time - Date.now() / 1000;
        return this.#hello();
      case "home":
        this.#homeWaiting = false;
        this.#home?.(message);
        return this.#settle();
      case "pong":
        return;
      default:
        return this.#receivedOfSession(message);
    }
  }

  #hello() {
    this.#isGreeted = true;
    this.#failures = 0;
    this.connection.set(this.#wasOpen ? "catching_up" : "open");
    this.#wasOpen = true;
    if (document.hidden) this.#tellVisibility();
    if (this.#home) this.#sendHome();
    for (const [session, follow] of this.#follows) this.#sendFollow(session, follow);
    this.#settle();
  }

  /** @param {SessionMessage} message */
  #receivedOfSession(message) {
    const follow = this.#follows.get(message.session ?? "");
    if (!follow) return;
    const seq = seqOf(message);
    if (seq !== null) follow.after = Math.max(follow.after ?? 0, seq);
    if (message.type !== "delta" && (follow.as === "view" || message.type !== "event")) follow.waiting = false;
    follow.receive(message);
    this.#ackSoon();
    this.#settle();
  }

  /** All that was asked for has answered: we have caught up. */
  #settle() {
    if (this.connection.value !== "catching_up" || this.#homeWaiting) return;
    if ([...this.#follows.values()].some((follow) => follow.waiting)) return;
    this.connection.set("open");
  }

  // ---------------------------------------------------------------- what is sent

  /** @param {string} session @param {Follow} follow */
  #sendFollow(session, follow) {
    follow.waiting = true;
    const { as, deltas, after } = follow;
    this.#send({ type: "follow", session, as, deltas, ...(after !== null && { after }) });
  }

  #sendHome() {
    this.#homeWaiting = true;
    this.#send({ type: "home", on: true });
  }

  #tellVisibility() {
    this.#send({ type: "visible", on: !document.hidden });
  }

  /** Acknowledge a little later, once for many messages. */
  #ackSoon() {
    this.#ackTimer ??= setTimeout(() => {
      this.#ackTimer = undefined;
      for (const [session, follow] of this.#follows) {
        if (follow.after === null || follow.after <= follow.acked) continue;
        follow.acked = follow.after;
        this.#send({ type: "ack", session, seq: follow.after });
      }
    }, ACK_MS);
  }
}

/** How far a message takes us; null if nowhere. @param {SessionMessage} message */
function seqOf(message) {
  if (message.type === "event") return message.event.seq;
  return message.type === "view" || message.type === "caught_up" ? message.seq : null;
}
