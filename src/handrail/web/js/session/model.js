/**
 * One session as this page knows it: its state, its rows as far as they are loaded, and what is being written.
 */

/** @import { Delta, Row, SessionMessage, SessionState, ViewMessage } from "../types.js" */
/** @import { Api } from "../api.js" */
/** @import { Live } from "../live.js" */
/** @import { Chunk } from "./thread.js" */

import { Store } from "../store.js";
import { LiveBlocks } from "./live-blocks.js";
import { Thread } from "./thread.js";

/** Rows of one request: several screens of them, and still quick. */
const PAGE_ROWS = 240;

/**
 * What changed since the last frame.
 * @typedef {object} Changes
 * @property {Set<Chunk>} chunks   chunks whose rows changed
 * @property {Set<string>} blocks  blocks that are being written, or were
 * @property {number} news         rows that are new at the end
 * @property {boolean} shape       whether chunks came, went or lost a gap
 * @property {Map<string, string>} settled  blocks that came whole, and the row that has each
 */

/** @returns {Changes} */
const nothing = () => ({ chunks: new Set(), blocks: new Set(), news: 0, shape: false, settled: new Map() });

export class SessionModel {
  thread = new Thread();
  writing = new LiveBlocks();
  /** @type {Store<SessionState | null>} */
  state = new Store(/** @type {SessionState | null} */ (null));
  /** The session is gone, or cannot be shown: why. @type {Store<string>} */
  trouble = new Store("");
  /** How many rows there are in all. */
  total = 0;
  /** What a person opened, by row: kept while it is off the screen. @type {Set<string>} */
  opened = new Set();

  #api;
  #changes = nothing();
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {Map<Chunk, Promise<void>>} */
  #filling = new Map();

  /** @param {string} id @param {Api} api */
  constructor(id, api) {
    this.id = id;
    this.path = `/api/sessions/${encodeURIComponent(id)}`;
    this.#api = api;
  }

  /** Begin to follow; returns what ends it. @param {Live} live */
  follow(live) {
    return live.follow(this.id, (message) => this.receive(message), { as: "view", deltas: true });
  }

  /** Call `listener` when there are changes to take. @param {() => void} listener @returns {() => void} */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What changed since this was called last. */
  takeChanges() {
    const changes = this.#changes;
    this.#changes = nothing();
    return changes;
  }

  /** @param {SessionMessage} message */
  receive(message) {
    switch (message.type) {
      case "view":
        return this.#view(message);
      case "delta":
        return this.#delta(message.delta);
      case "gone":
        this.state.set(null);
        return this.trouble.set("It was deleted.");
      case "problem":
        return this.trouble.set(message.detail);
    }
  }

  /** @param {ViewMessage} message */
  #view({ reset, state, rows = [], before = null, total }) {
    if (total !== undefined) this.total = total;
    if (reset) this.#loseWriting();
    const known = new Set(rows.filter((row) => this.thread.has(row.key)).map((row) => row.key));
    const fresh = rows.filter((row) => !known.has(row.key) && !row.parent).length;
    const touched = reset ? this.thread.takeTail(rows, before) : this.thread.upsert(rows);
    for (const chunk of touched) this.#changes.chunks.add(chunk);
    for (const row of rows) this.#settle(row, known.has(row.key));
    this.#changes.news += fresh;
    this.#changes.shape = true;
    if (state) this.#takeState(state);
    this.#tell();
  }

  /** @param {SessionState} state */
  #takeState(state) {
    // Whatever was cut off will not go on; its row says what had arrived.
    if (this.state.value?.run && !state.run) this.#loseWriting();
    this.state.set({ ...this.state.value, ...state });
  }

  /** @param {Delta} delta */
  #delta(delta) {
    const block = this.writing.take(delta);
    if (block === null) return;
    this.#changes.blocks.add(block.id);
    this.#tell();
  }

  /**
   * A row that carries a whole block takes the place of what was written of it.
   * @param {Row} row
   * @param {boolean} known
   */
  #settle(row, known) {
    const block = "block" in row ? row.block : row.type === "action" && !known ? this.#oldestInput(row) : undefined;
    if (block === undefined) return;
    this.writing.settle(block);
    this.#changes.blocks.add(block);
    this.#changes.settled.set(block, row.key);
  }

  /** An action does not say which block it was: calls come in the order in which they are written. @param {Row} row */
  #oldestInput(row) {
    const inputs = [...this.writing.blocks.values()].filter(({ kind }) => kind === "input");
    return inputs.find(({ parent }) => Boolean(parent) === Boolean(row.parent))?.id;
  }

  #loseWriting() {
    for (const id of this.writing.blocks.keys()) this.#changes.blocks.add(id);
    this.writing.clear();
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }

  /** Load what is missing before a chunk, once, however often this is called. @param {Chunk} chunk */
  fill(chunk) {
    const running = this.#filling.get(chunk);
    if (running) return running;
    const filling = this.#fill(chunk).finally(() => this.#filling.delete(chunk));
    this.#filling.set(chunk, filling);
    return filling;
  }

  /** @param {Chunk} chunk */
  isFilling(chunk) {
    return this.#filling.has(chunk);
  }

  /** @param {Chunk} chunk */
  async #fill(chunk) {
    const page = await this.#api.get(`${this.path}/rows`, { query: { before: chunk.gap, limit: PAGE_ROWS } });
    this.thread.takeStretch(page.items, page.before ?? null, chunk);
    this.#changes.shape = true;
    this.#tell();
  }

  /** See that a row is loaded, wherever it is. @param {string} key */
  async load(key) {
    if (this.thread.chunkWith(key)) return;
    const page = await this.#api.get(`${this.path}/rows`, { query: { around: key, limit: PAGE_ROWS } });
    this.thread.takeStretch(page.items, page.before ?? null);
    this.#changes.shape = true;
    this.#tell();
  }

  /** @type {Map<string, Promise<RowDetails>>} */
  #details = new Map();

  /**
   * What an action did: its input, its output, its pictures.
   * @param {string} key
   * @param {boolean} over  whether it has ended: then it never changes
   * @returns {Promise<RowDetails>}
   */
  details(key, over) {
    const known = this.#details.get(key);
    if (known) return known;
    const fetched = this.#api.get(`${this.path}/rows/${encodeURIComponent(key)}`);
    if (over) {
      this.#details.set(key, fetched);
      fetched.catch(() => this.#details.delete(key));
      if (this.#details.size > KEPT_DETAILS) this.#details.delete(this.#details.keys().next().value ?? "");
    }
    return fetched;
  }
}

/** Opened actions that are kept, so that scrolling by does not fetch them again. */
const KEPT_DETAILS = 40;

/**
 * @typedef {object} RowDetails
 * @property {{ title: string, html: string, kind?: string }[]} sections
 * @property {{ src: string, alt: string }[]} [images]
 * @property {string} [text]
 */
