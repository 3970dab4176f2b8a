/** Text that is being written, put together from pieces that may come late, twice or not at all. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { randomNumbers, WEB } from "./support.mjs";

const { LiveBlocks } = await import(new URL("session/live-blocks.js", WEB).href);

const piece = (offset, text, more = {}) => ({ block: "b", kind: "text", offset, text, parent: null, ...more });

function written(...pieces) {
  const blocks = new LiveBlocks();
  for (const each of pieces) blocks.take(each);
  return blocks.blocks.get("b")?.text ?? null;
}

test("pieces that follow one another are one text", () => {
  assert.equal(written(piece(0, "Hello"), piece(5, ", "), piece(7, "world")), "Hello, world");
});

test("a piece that would leave a gap is not taken, and the next that fits is", () => {
  assert.equal(written(piece(5, "late")), null);
  assert.equal(written(piece(0, "Hel"), piece(5, "x"), piece(3, "lo!")), "Hello!");
});

test("a piece that came before changes nothing, and one that reaches further does", () => {
  const blocks = new LiveBlocks();
  blocks.take(piece(0, "Hello"));
  assert.equal(blocks.take(piece(0, "Hel")), null);
  assert.equal(blocks.take(piece(2, "llo")), null);
  assert.equal(blocks.take(piece(3, "lo, you"))?.text, "Hello, you");
});

test("offsets count characters, not halves of them", () => {
  assert.equal(written(piece(0, "👋🏽 a"), piece(4, "b👩‍👧"), piece(4, "b👩‍👧!")), "👋🏽 ab👩‍👧!");
});

test("a block keeps its kind and its place", () => {
  const blocks = new LiveBlocks();
  const block = blocks.take(piece(0, "hm", { kind: "thinking", parent: "7" }));
  assert.deepEqual([block.kind, block.parent], ["thinking", "7"]);
  assert.equal(blocks.take(piece(0, "x", { block: "c", kind: "unheard of" })).kind, "text");
});

test("a block that has come whole is not begun anew by a late piece", () => {
  const blocks = new LiveBlocks();
  blocks.take(piece(0, "Hello"));
  blocks.settle("b");
  assert.equal(blocks.take(piece(0, "Hello")), null);
  assert.equal(blocks.blocks.size, 0);
});

test("what is remembered does not grow for ever, and the newest is remembered", () => {
  const blocks = new LiveBlocks();
  for (let number = 0; number < 5_000; number += 1) blocks.settle(`b${number}`);
  assert.ok(blocks.settled.size <= 256);
  assert.ok(blocks.settled.has("b4999"));
});

test("in whatever order pieces come, the text is a beginning of the whole, and never gets shorter", () => {
  const whole = [..."Grüße 👋🏽, 世界! ".repeat(6)];
  for (let seed = 1; seed <= 100; seed += 1) {
    const { below } = randomNumbers(seed);
    const blocks = new LiveBlocks();
    let longest = 0;
    for (let times = 0; times < 40; times += 1) {
      const offset = below(Math.min(whole.length, longest + 4));
      const part = whole.slice(offset, offset + 1 + below(12)).join("");
      blocks.take(piece(offset, part));
      const block = blocks.blocks.get("b");
      if (!block) continue;
      assert.equal(block.text, whole.slice(0, block.length).join(""), `seed ${seed}`);
      assert.ok(block.length >= longest, `seed ${seed}`);
      longest = block.length;
    }
  }
});
