/** A session's rows, as far as they are loaded: in order, each once, with gaps where some are missing. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { action, row } from "./rows.mjs";
import { randomNumbers, WEB } from "./support.mjs";

const { Thread } = await import(new URL("session/thread.js", WEB).href);

/** A session on the hub, and its pages. */
class Session {
  /** @param {number} size */
  constructor(size) {
    this.rows = Array.from({ length: size }, (_, index) => Session.row(index + 1));
  }

  /** Texts, calls and thoughts, so that runs of calls meet the ends of chunks. */
  static row(seq) {
    if (seq % 7 === 0) return row(seq, "text");
    return seq % 5 === 0 ? row(seq, "thinking") : action(seq);
  }

  grow(count) {
    const fresh = Array.from({ length: count }, (_, index) => Session.row(this.rows.length + index + 1));
    this.rows.push(...fresh);
    return fresh;
  }

  tail(limit) {
    return this.#page(Math.max(0, this.rows.length - limit), this.rows.length);
  }

  before(key, limit) {
    const end = this.rows.findIndex((each) => each.key === key);
    return this.#page(Math.max(0, end - limit), end);
  }

  around(key, limit) {
    const middle = this.rows.findIndex((each) => each.key === key);
    return this.#page(Math.max(0, middle - limit), Math.min(this.rows.length, middle + limit));
  }

  #page(from, to) {
    const items = this.rows.slice(from, to);
    return { items, before: from === 0 ? null : items[0].key };
  }
}

const keysOf = (thread) => thread.chunks.flatMap((chunk) => chunk.rows.map((each) => each.key));
const keysOfAll = (session) => session.rows.map((each) => each.key);

function tailOf(session, limit = 50) {
  const thread = new Thread();
  const { items, before } = session.tail(limit);
  thread.takeTail(items, before);
  return thread;
}

/** Load whatever is missing, from the end to the beginning. */
function fillAll(thread, session, limit = 60) {
  for (let times = 0; times < 1_000; times += 1) {
    const chunk = thread.chunks.findLast(({ gap }) => gap !== null);
    if (!chunk) return;
    const { items, before } = session.before(chunk.gap, limit);
    thread.takeStretch(items, before, chunk);
  }
  assert.fail("the gaps never end");
}

function checkSound(thread, session, about = "") {
  const keys = keysOf(thread).map(Number);
  assert.ok(keys.every((key, place) => place === 0 || keys[place - 1] < key), `in order, each once ${about}`);
  for (const chunk of thread.chunks) assert.ok(chunk.rows.every((each) => thread.chunkOf.get(each.key) === chunk));
  // Where two rows that are shown beside one another are not neighbours, a gap says so.
  for (const [index, chunk] of thread.chunks.entries()) {
    const [first] = chunk.rows;
    const previous = thread.chunks[index - 1]?.rows.at(-1);
    if (!first) continue;
    const isWhole = first.seq === (previous?.seq ?? 0) + 1;
    assert.ok(isWhole || chunk.gap !== null, `a gap before ${first.key} is not told ${about}`);
    assert.ok(chunk.rows.every((each, place) => each.seq === first.seq + place), `a gap inside a chunk ${about}`);
  }
  assert.ok(keys.every((seq) => seq <= session.rows.length));
}

test("it begins with the end, and the rest is loaded where it is missing", () => {
  const session = new Session(500);
  const thread = tailOf(session);
  assert.equal(keysOf(thread).length, 50);
  assert.equal(thread.chunks[0].gap, "451");
  fillAll(thread, session);
  assert.deepEqual(keysOf(thread), keysOfAll(session));
  checkSound(thread, session);
});

test("a short session has no gap", () => {
  const session = new Session(3);
  const thread = tailOf(session);
  assert.deepEqual(thread.chunks.map(({ gap }) => gap), [null]);
  assert.deepEqual(keysOf(thread), ["1", "2", "3"]);
});

test("rows that are new come at the end; one that changed stays where it is", () => {
  const session = new Session(60);
  const thread = tailOf(session);
  thread.upsert(session.grow(3));
  const changed = { ...session.rows[55], title: "changed" };
  const touched = thread.upsert([changed]);
  assert.equal(thread.rows.get("56").title, "changed");
  assert.deepEqual([...touched], [thread.chunkWith("56")]);
  assert.deepEqual(keysOf(thread), keysOfAll(session).slice(10));
});

test("a change of a row that is not loaded is left to loading", () => {
  const session = new Session(200);
  const thread = tailOf(session);
  assert.equal(thread.upsert([session.rows[10]]).size, 0);
  checkSound(thread, session);
});

test("chunks are small, and a run of calls is not torn apart", () => {
  const thread = new Thread();
  thread.takeTail(Array.from({ length: 100 }, (_, index) => row(index + 1, "text")), null);
  assert.ok(thread.chunks.every(({ rows }) => rows.length <= 40));
  const calls = new Thread();
  calls.takeTail(Array.from({ length: 100 }, (_, index) => action(index + 1)), null);
  assert.equal(calls.chunks.length, 1);
  const many = new Thread();
  many.takeTail(Array.from({ length: 1_000 }, (_, index) => action(index + 1)), null);
  assert.ok(many.chunks.every(({ rows }) => rows.length <= 160));
});

test("after a long break the new end stands behind a gap, which can be filled", () => {
  const session = new Session(100);
  const thread = tailOf(session);
  session.grow(300);
  const { items, before } = session.tail(50);
  thread.takeTail(items, before);
  checkSound(thread, session);
  assert.equal(thread.chunks.filter(({ gap }) => gap !== null).length, 2);
  fillAll(thread, session);
  assert.deepEqual(keysOf(thread), keysOfAll(session));
});

test("after a short break the new end goes on from what was there", () => {
  const session = new Session(100);
  const thread = tailOf(session);
  session.grow(10);
  const { items, before } = session.tail(50);
  thread.takeTail(items, before);
  assert.deepEqual(keysOf(thread), keysOfAll(session).slice(50));
  checkSound(thread, session);
});

test("a place in the middle can be gone to, and both sides filled in", () => {
  const session = new Session(600);
  const thread = tailOf(session);
  const { items, before } = session.around("300", 20);
  thread.takeStretch(items, before);
  assert.ok(thread.chunkWith("300"));
  checkSound(thread, session);
  fillAll(thread, session);
  assert.deepEqual(keysOf(thread), keysOfAll(session));
});

test("what a subagent does is shown inside of its call", () => {
  const thread = new Thread();
  const inner = action(3, "read", { parent: "2" });
  thread.takeTail([row(1, "prompt"), action(2, "task"), inner, action(4, "read", { parent: "3" })], null);
  assert.deepEqual(keysOf(thread), ["1", "2"]);
  assert.deepEqual(thread.childrenOf("2"), [inner]);
  assert.equal(thread.topOf("4").key, "2");
  assert.equal(thread.chunkWith("4"), thread.chunkWith("2"));
});

test("whatever is loaded in whatever order, nothing is missing, doubled or out of place", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const { below } = randomNumbers(seed);
    const session = new Session(1 + below(400));
    const thread = tailOf(session, 1 + below(60));
    for (let times = 0; times < 25; times += 1) {
      switch (below(5)) {
        case 0:
          thread.upsert(session.grow(1 + below(30)));
          break;
        case 1: {
          session.grow(below(120)); // while the connection was lost
          const { items, before } = session.tail(1 + below(60));
          thread.takeTail(items, before);
          break;
        }
        case 2: {
          const gaps = thread.chunks.filter(({ gap }) => gap !== null);
          const chunk = gaps[below(gaps.length)];
          if (!chunk) break;
          const { items, before } = session.before(chunk.gap, 1 + below(80));
          thread.takeStretch(items, before, chunk);
          break;
        }
        case 3: {
          const key = String(1 + below(session.rows.length));
          if (thread.chunkWith(key)) break;
          const { items, before } = session.around(key, 1 + below(40));
          thread.takeStretch(items, before);
          break;
        }
        default:
          thread.upsert([session.rows[below(session.rows.length)]]);
      }
      checkSound(thread, session, `(seed ${seed}, step ${times})`);
    }
    fillAll(thread, session);
    assert.deepEqual(keysOf(thread), keysOfAll(session), `seed ${seed}`);
  }
});
