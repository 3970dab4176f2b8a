/**
 * The conversation on the page. Only the chunks near the window are drawn; those far from it are empty boxes of the same
 * height, so that the page stays small however long the session is.
 */

/** @import { SessionModel } from "./model.js" */
/** @import { Chunk } from "./thread.js" */
/** @import { ItemContext } from "./items.js" */

import { fill, h, HandrailElement } from "../dom.js";
import { inWords } from "../api.js";
import { counted } from "../format.js";
import { icon } from "../icons.js";
import { groupRows } from "./grouping.js";
import { drawItems } from "./items.js";
import { ScrollKeeper } from "./scroll-keeper.js";
import { Streaming } from "./streaming.js";

/** How far from the window chunks are drawn, and from where on they are emptied again, in windows. */
const DRAWN_WITHIN = 1.5;
const EMPTIED_BEYOND = 4;
/** How far ahead of the reader earlier rows are loaded, in windows. */
const LOADED_WITHIN = 4;
/** The height of a row that was never drawn, as a guess. */
const ROW_PX = 34;

const EMPTY = "Nothing has been said here yet. Write below what Claude is to do.";
const FORKED = "A copy of another session: Claude knows all that was said there. Write below how it goes on here.";

/** @typedef {{ box: HTMLElement, drawn: boolean, height: number, stale: boolean }} Box */

export class HandrailThread extends HandrailElement {
  /** @type {SessionModel} */ model = /** @type {any} */ (null);
  /** @type {ItemContext} */ context = /** @type {any} */ (null);

  /** @type {Map<Chunk, Box>} */
  #boxes = new Map();
  /** The chunks that have their box on the page, in order. @type {Chunk[]} */
  #placed = [];
  #chunks = h("div", { class: "chunks" });
  #live = h("div", { class: "writing" });
  #nothing = h(
    "div",
    { class: "nothing quiet-text", hidden: true },
    EMPTY,
  );
  #column = h(
    "div",
    { class: "column", role: "log", "aria-label": "Conversation", "aria-live": "off" },
    this.#nothing,
    this.#chunks,
    this.#live,
  );
  #scroller = h(
    "div",
    { class: "scroller", tabindex: "0", "aria-label": "Conversation", role: "region" },
    this.#column,
  );
  #pill = h("button", { class: "pill", hidden: true, "data-action": "to-end", onclick: () => this.toEnd() });
  #streaming = new Streaming(this.#live);
  #news = 0;
  /** @type {ScrollKeeper | null} */
  #keeper = null;

  /** @override */
  mount() {
    fill(this, this.#scroller, this.#pill);
    const keeper = new ScrollKeeper(
      this.#scroller,
      this.#column,
      (top) => this.#elementAt(top),
      () => this.#showPill(),
    );
    this.#keeper = keeper;
    this.hold(() => keeper.disconnect());
    this.hold(this.model.onChange(() => this.update()));
    this.listen(this.#scroller, "scroll", () => this.#scrolled(), { passive: true });
    this.listen(this.#scroller, "click", (event) => this.#clicked(event), { capture: true });
  }

  /** Everything that changed since the last frame, in one go. @override */
  render() {
    const changes = this.model.takeChanges();
    for (const [block, key] of changes.settled) if (this.#streaming.isOpen(block)) this.model.opened.add(key);
    this.#keeper?.during(() => {
      if (changes.shape) this.#placeBoxes();
      for (const chunk of changes.chunks) this.#touch(chunk);
      this.#streaming.show(this.model.writing, changes.blocks);
      this.#drawNear();
    });
    this.#nothing.textContent = this.model.state.value?.forked_from ? FORKED : EMPTY;
    this.#nothing.hidden = this.model.state.value === null || this.model.thread.chunks.length > 0;
    if (!this.#keeper?.following) this.#news += changes.news;
    this.#showPill();
    this.#loadNear();
  }

  toEnd() {
    this.#keeper?.toEnd();
    this.#scrolled();
  }

  /** Show a row, wherever it is; gives its element. @param {string} key @returns {Promise<HTMLElement | null>} */
  async reveal(key) {
    await this.model.load(key);
    this.render();
    const chunk = this.model.thread.chunkWith(key);
    const box = chunk && this.#boxes.get(chunk);
    if (!chunk || !box) return null;
    this.#openAround(key);
    this.#draw(chunk, box);
    const element = elementFor(box.box, key) ?? box.box;
    this.#keeper?.toElement(element);
    this.#drawNear();
    this.#keeper?.toElement(element);
    return element;
  }

  /** Draw again what shows one of these rows. @param {string[]} keys */
  refresh(keys) {
    this.#keeper?.during(() => {
      for (const key of keys) {
        const chunk = this.model.thread.chunkWith(key);
        if (chunk) this.#touch(chunk);
      }
      this.#drawNear();
    });
  }

  /** What is folded around a row is opened. @param {string} key */
  #openAround(key) {
    const { thread, opened } = this.model;
    for (let row = thread.rows.get(key); row; row = row.parent ? thread.rows.get(row.parent) : undefined) {
      const siblings =
        row.parent && !thread.chunkOf.has(row.key)
          ? thread.childrenOf(row.parent)
          : (thread.chunkOf.get(row.key)?.rows ?? []);
      const item = groupRows(siblings).find(
        (each) => each.type === "tools" && each.rows.some(({ key: one }) => one === row.key),
      );
      if (item?.type === "tools" && item.rows.length > 1) opened.add(`run:${item.key}`);
      if (row.key !== key) opened.add(row.key);
    }
  }

  // ---------------------------------------------------------------- boxes

  /** One box for each chunk, in order. */
  #placeBoxes() {
    let place = this.#chunks.firstElementChild;
    for (const chunk of this.model.thread.chunks) {
      const { box } = this.#boxOf(chunk);
      if (box === place) place = place.nextElementSibling;
      else this.#chunks.insertBefore(box, place);
      box.classList.toggle("has-gap", chunk.gap !== null);
    }
    this.#placed = [...this.model.thread.chunks];
  }

  /** @param {Chunk} chunk */
  #boxOf(chunk) {
    const known = this.#boxes.get(chunk);
    if (known) return known;
    const box = h("div", { class: "chunk", dataset: { chunk: chunk.id } });
    const made = { box, drawn: false, height: 0, stale: true };
    this.#boxes.set(chunk, made);
    this.#empty(chunk, made);
    return made;
  }

  /** A chunk's rows changed. @param {Chunk} chunk */
  #touch(chunk) {
    const box = this.#boxOf(chunk);
    box.stale = true;
    if (!box.drawn && box.height === 0) this.#empty(chunk, box);
  }

  /** Draw what is near the window, empty what is far from it. */
  #drawNear() {
    const { top, height } = this.#scroller.getBoundingClientRect();
    // Drawing changes heights, and what is near with them; twice is enough, the rest comes with the next frame.
    for (let round = 0; round < 2; round += 1) {
      let drew = false;
      for (const chunk of this.#chunksNear(top, height, DRAWN_WITHIN))
        drew = this.#draw(chunk, this.#boxOf(chunk)) || drew;
      if (!drew) break;
      this.#keeper?.restore();
    }
    const kept = new Set(this.#chunksNear(top, height, EMPTIED_BEYOND));
    for (const [chunk, box] of this.#boxes) if (box.drawn && !kept.has(chunk)) this.#empty(chunk, box);
  }

  /** @param {Chunk} chunk @param {Box} box @returns {boolean} whether anything was drawn */
  #draw(chunk, box) {
    if (box.drawn && !box.stale) return false;
    drawItems(box.box, groupRows(chunk.rows), this.context);
    box.box.style.blockSize = "";
    box.drawn = true;
    box.stale = false;
    return true;
  }

  /** @param {Chunk} chunk @param {Box} box */
  #empty(chunk, box) {
    if (box.drawn) box.height = box.box.offsetHeight;
    box.box.replaceChildren();
    box.box.style.blockSize = `${box.height || chunk.rows.length * ROW_PX}px`;
    box.drawn = false;
  }

  /**
   * The chunks within so many windows of the window.
   * @param {number} top
   * @param {number} height
   * @param {number} windows
   */
  #chunksNear(top, height, windows) {
    const chunks = this.#placed;
    const from = this.#firstEndingAfter(top - height * windows);
    const end = top + height * (1 + windows);
    let to = from;
    for (let chunk = chunks[to]; chunk && this.#boxOf(chunk).box.getBoundingClientRect().top <= end; chunk = chunks[to])
      to += 1;
    return chunks.slice(from, to);
  }

  /** The index of the first chunk that ends below this height. @param {number} y */
  #firstEndingAfter(y) {
    const chunks = this.#placed;
    let [low, high] = [0, chunks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const chunk = chunks[middle];
      if (chunk && this.#boxOf(chunk).box.getBoundingClientRect().bottom <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** What a reader has at the top of the window. @param {number} top */
  #elementAt(top) {
    const chunk = this.#placed[this.#firstEndingAfter(top)];
    if (!chunk) return this.#live;
    const { box } = this.#boxOf(chunk);
    return [...box.children].find((item) => item.getBoundingClientRect().bottom > top) ?? box;
  }

  // ---------------------------------------------------------------- scrolling

  #scrolled() {
    const keeper = this.#keeper;
    if (!keeper) return;
    keeper.scrolled();
    keeper.during(() => this.#drawNear());
    this.#loadNear();
  }

  /** A reader who opens something wants to see it, not the end. @param {MouseEvent} event */
  #clicked(event) {
    if (event.target instanceof Element && event.target.closest("summary, .action-line")) this.#keeper?.letGo();
  }

  /** Load what is missing before chunks that the reader comes near to. */
  #loadNear() {
    const { top, height } = this.#scroller.getBoundingClientRect();
    if (height === 0) return;
    for (const chunk of this.#chunksNear(top, height, LOADED_WITHIN)) {
      if (chunk.gap === null || this.model.isFilling(chunk)) continue;
      const { box } = this.#boxOf(chunk);
      this.model.fill(chunk).then(
        () => delete box.dataset.trouble,
        (error) => (box.dataset.trouble = inWords(error)),
      );
    }
  }

  #showPill() {
    const following = this.#keeper?.following ?? true;
    if (following) this.#news = 0;
    this.#pill.hidden = following || (this.#keeper?.isAtEnd ?? true);
    if (this.#pill.hidden) return;
    fill(this.#pill, this.#news > 0 ? `${this.#news} new` : "To the end", " ", icon("arrow_down"));
    this.#pill.setAttribute(
      "aria-label",
      this.#news > 0 ? `${counted(this.#news, "new entry", "new entries")}, go to the end` : "Go to the end",
    );
  }
}

/** @param {Element} box @param {string} key */
function elementFor(box, key) {
  return /** @type {HTMLElement | null} */ (box.querySelector(`[data-row="${CSS.escape(key)}"]`));
}

customElements.define("handrail-thread", HandrailThread);
