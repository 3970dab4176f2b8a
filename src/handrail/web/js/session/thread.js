/**
 * A session's rows in chunks, as far as they are loaded.
 *
 * A long session is never loaded whole. The thread begins with its end, grows there, and is filled in where a reader
 * goes; so there may be gaps. Each chunk is a stretch of neighbouring rows that is drawn, measured and taken off the
 * page as one. A chunk with a `gap` has unloaded rows before it.
 *
 * @import {Row} from "../types.js"
 *
 * @typedef {object} Chunk
 * @property {number} id
 * @property {Row[]} rows          in order, of the top level
 * @property {string|null} gap     the cursor to ask the rows before it with; null if nothing is missing there
 */

import { isJoinable } from "./grouping.js";

/** Rows of a chunk: few enough to be drawn within a frame, enough that a long session has not too many chunks. */
const CHUNK_ROWS = 40;
/** A run of calls is not torn apart at the end of a chunk, up to this size. */
const CHUNK_ROWS_AT_MOST = 160;

/** @param {Row} a @param {Row} b */
const inOrder = (a, b) => a.seq - b.seq || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

export class Thread {
  #lastChunkId = 0;

  constructor() {
    /** @type {Chunk[]} */
    this.chunks = [];
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {Map<string, Row[]>} what happened inside an action (a subagent's), by its key */
    this.inside = new Map();
    /** @type {Map<string, Chunk>} */
    this.chunkOf = new Map();
  }

  /** @param {string} key */
  has(key) {
    return this.rows.has(key);
  }

  /** The row of the top level in which a row is shown. @param {string} key */
  topOf(key) {
    let row = this.rows.get(key);
    while (row?.parent && !this.chunkOf.has(row.key) && this.rows.has(row.parent)) row = this.rows.get(row.parent);
    return row ?? null;
  }

  /** What is shown inside an action. @param {string} key */
  childrenOf(key) {
    return (this.inside.get(key) ?? []).filter((row) => !this.chunkOf.has(row.key));
  }

  /** The chunk in which a row is shown, be it inside a subagent. @param {string} key */
  chunkWith(key) {
    const top = this.topOf(key);
    return top === null ? null : (this.chunkOf.get(top.key) ?? null);
  }

  /**
   * Take rows that are new at the end, or changed. Changes of rows that are not loaded are left: loading brings them.
   * @param {readonly Row[]} rows
   * @returns {Set<Chunk>} the chunks that look different now
   */
  upsert(rows) {
    /** @type {Set<Chunk>} */
    const touched = new Set();
    for (const row of [...rows].sort(inOrder)) {
      if (!this.rows.has(row.key) && this.#isInGap(row)) continue;
      this.#remember(row);
      const chunk = this.#isShownInside(row) ? this.chunkWith(row.key) : this.#put(row);
      if (chunk) touched.add(chunk);
    }
    return touched;
  }

  /**
   * Take the end of the session, as it comes first, and again after a connection was lost for long.
   * @param {readonly Row[]} rows
   * @param {string|null} before  the cursor for what comes before
   * @returns {Set<Chunk>} the chunks that look different now
   */
  takeTail(rows, before) {
    const shown = topLevel(rows);
    if (shown[0] !== undefined && !this.rows.has(shown[0].key)) this.takeStretch(shown, before);
    return this.upsert(rows);
  }

  /**
   * Take neighbouring rows from anywhere.
   * @param {readonly Row[]} rows
   * @param {string|null} before     the cursor for what comes before them
   * @param {Chunk|null} [next]      the chunk that follows them directly, where that is known
   */
  takeStretch(rows, before, next = null) {
    const runs = unknownRuns(topLevel(rows), this.rows);
    for (const row of rows) this.#remember(row);
    for (const run of runs) {
      const chunks = split(run.rows).map((part) => this.#newChunk(part, null));
      /** @type {Chunk | null} */
      const follower = run.meetsNext ? this.#firstAfter(run.rows) : (next ?? this.#firstAfter(run.rows));
      this.chunks.splice(follower === null ? this.chunks.length : this.chunks.indexOf(follower), 0, ...chunks);
      if (follower !== null && (run.meetsNext || follower === next)) follower.gap = null;
      if (chunks[0] !== undefined) chunks[0].gap = run.meetsPrevious ? null : before;
    }
    // A page without anything new reached what was loaded already, or the beginning.
    if (runs.length === 0 && next !== null) next.gap = null;
  }

  /** @param {Row} row */
  #remember(row) {
    this.rows.set(row.key, row);
    if (row.parent) this.#putInside(row);
  }

  /** Whether a row belongs where rows are missing. @param {Row} row */
  #isInGap(row) {
    if (row.parent && this.rows.has(row.parent)) return false;
    const follower = this.#firstAfter([row]);
    return follower !== null && follower.gap !== null;
  }

  /** A row whose subagent began in a part that is not loaded is shown on the top level. @param {Row} row */
  #isShownInside(row) {
    return Boolean(row.parent) && this.rows.has(/** @type {string} */ (row.parent)) && !this.chunkOf.has(row.key);
  }

  /** @param {Row} row */
  #put(row) {
    const chunk = this.chunkOf.get(row.key) ?? this.#chunkForNew(row);
    putInOrder(chunk.rows, row);
    this.chunkOf.set(row.key, chunk);
    return chunk;
  }

  /** @param {Row} row @returns {Chunk} */
  #chunkForNew(row) {
    const last = this.chunks.at(-1) ?? this.#append();
    const lastRow = last.rows.at(-1);
    if (lastRow === undefined) return last;
    if (inOrder(row, lastRow) < 0) return this.#chunkAround(row, last);
    return isFull(last.rows, row) ? this.#append() : last;
  }

  /** The chunk for a row that belongs further up. @param {Row} row @param {Chunk} last */
  #chunkAround(row, last) {
    const follower = this.#firstAfter([row]);
    if (follower === null) return last;
    return this.chunks[Math.max(0, this.chunks.indexOf(follower) - 1)] ?? last;
  }

  /** The first chunk that begins after these rows. @param {Row[]} rows @returns {Chunk|null} */
  #firstAfter(rows) {
    const last = rows.at(-1);
    return this.chunks.find(({ rows: [first] }) => first && last && inOrder(last, first) < 0) ?? null;
  }

  #append() {
    const chunk = this.#newChunk([], null);
    this.chunks.push(chunk);
    return chunk;
  }

  /** @param {Row[]} rows @param {string|null} gap @returns {Chunk} */
  #newChunk(rows, gap) {
    this.#lastChunkId += 1;
    const chunk = { id: this.#lastChunkId, rows, gap };
    for (const row of rows) this.chunkOf.set(row.key, chunk);
    return chunk;
  }

  /** @param {Row} row */
  #putInside(row) {
    const parent = /** @type {string} */ (row.parent);
    const siblings = this.inside.get(parent) ?? [];
    putInOrder(siblings, row);
    this.inside.set(parent, siblings);
  }
}

/** @param {readonly Row[]} rows */
function topLevel(rows) {
  return rows.filter((row) => !row.parent).sort(inOrder);
}

/** Put a row in its place, or in place of what it was. @param {Row[]} rows @param {Row} row */
function putInOrder(rows, row) {
  let index = rows.length;
  for (let before = rows[index - 1]; before && inOrder(before, row) > 0; before = rows[index - 1]) index -= 1;
  const same = rows[index - 1]?.key === row.key;
  rows.splice(same ? index - 1 : index, same ? 1 : 0, row);
}

/** Whether a row begins a new chunk after these. @param {Row[]} rows @param {Row} row */
function isFull(rows, row) {
  const joins = isJoinable(row) || row.type === "thinking";
  return rows.length >= (joins ? CHUNK_ROWS_AT_MOST : CHUNK_ROWS);
}

/** @param {Row[]} rows @returns {Row[][]} */
function split(rows) {
  /** @type {Row[][]} */
  const parts = [];
  for (const row of rows) {
    const part = parts.at(-1);
    if (part === undefined || isFull(part, row)) parts.push([row]);
    else part.push(row);
  }
  return parts;
}

/**
 * The stretches of rows that are not loaded yet, and whether loaded ones are right beside them.
 * @param {Row[]} rows
 * @param {Map<string, Row>} known
 */
function unknownRuns(rows, known) {
  /** @type {{rows: Row[], meetsPrevious: boolean, meetsNext: boolean}[]} */
  const runs = [];
  let previousIsKnown = false;
  let running = false;
  for (const row of rows) {
    const run = runs.at(-1);
    if (known.has(row.key)) {
      if (running && run) run.meetsNext = true;
      running = false;
      previousIsKnown = true;
    } else if (running && run) {
      run.rows.push(row);
    } else {
      runs.push({ rows: [row], meetsPrevious: previousIsKnown, meetsNext: false });
      running = true;
    }
  }
  return runs;
}
