/**
 * Blocks that are being written, put together from pieces that may come late, twice or not at all.
 *
 * A piece belongs at an offset of its block. One that would leave a gap is not taken: the whole block will come as a
 * row. Offsets count characters as the hub does (code points), not UTF-16 units.
 *
 * @import {Delta} from "../types.js"
 *
 * @typedef {object} LiveBlock
 * @property {string} id
 * @property {"text" | "thinking" | "input"} kind
 * @property {string|null} parent
 * @property {string} text
 * @property {number} length  in code points
 */

/** How many finished blocks are remembered, so that late pieces of them do not begin them anew. */
const REMEMBERED = 256;

/** @param {string} text */
function codePoints(text) {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    // The second half of a surrogate pair belongs to the character before it.
    const unit = text.charCodeAt(index);
    if (unit < 0xdc00 || unit > 0xdfff) count += 1;
  }
  return count;
}

/** @param {Delta} delta @returns {LiveBlock["kind"]} */
function kindOf({ kind }) {
  return kind === "thinking" || kind === "input" ? kind : "text";
}

export class LiveBlocks {
  constructor() {
    /** @type {Map<string, LiveBlock>} */
    this.blocks = new Map();
    /** @type {Set<string>} */
    this.settled = new Set();
  }

  /**
   * Put a piece in its place.
   * @param {Delta} delta
   * @returns {LiveBlock|null} the block, if that changed it
   */
  take(delta) {
    if (this.settled.has(delta.block)) return null;
    const block = this.blocks.get(delta.block) ?? {
      id: delta.block,
      kind: kindOf(delta),
      parent: delta.parent ?? null,
      text: "",
      length: 0,
    };
    if (delta.offset > block.length) return null;
    const size = codePoints(delta.text);
    if (delta.offset + size <= block.length && delta.offset < block.length) return null;
    if (delta.offset < block.length) block.text = [...block.text].slice(0, delta.offset).join("");
    block.text += delta.text;
    block.length = delta.offset + size;
    this.blocks.set(block.id, block);
    return block;
  }

  /**
   * The whole block has come: what was live of it is over.
   * @param {string} id
   */
  settle(id) {
    this.blocks.delete(id);
    this.settled.add(id);
    if (this.settled.size > REMEMBERED) this.settled.delete(/** @type {string} */ (this.settled.values().next().value));
  }

  /** Nothing is being written any more: a run ended, or the connection was lost in between. */
  clear() {
    this.blocks.clear();
  }
}
