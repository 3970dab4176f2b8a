/**
 * Find in a session: the hub searches all of it, loaded here or not; this jumps from hit to hit.
 */

/** @import { Commands, Hit } from "./commands.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement } from "../dom.js";
import { icon } from "../icons.js";

const PAUSE_MS = 180;
const HIGHLIGHT = "find";

export class HandrailFind extends HandrailElement {
  /** @type {Commands} */ commands = /** @type {any} */ (null);
  /** Shows a row, and gives its element. @type {(key: string) => Promise<HTMLElement | null>} */
  reveal = async () => null;

  /** @type {Hit[]} */
  #hits = [];
  #total = 0;
  #here = -1;
  #trouble = "";
  /** @type {AbortController | null} */
  #search = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #field = h("input", {
    type: "search",
    placeholder: "Find in this session",
    "aria-label": "Find in this session",
    autocomplete: "off",
    spellcheck: "false",
  });
  #count = h("span", { class: "num quiet-text find-count", role: "status" });

  /** @override */
  mount() {
    this.setAttribute("role", "search");
    this.hidden = true;
    fill(
      this,
      icon("search"),
      this.#field,
      this.#count,
      h(
        "button",
        { class: "icon-button previous", "aria-label": "Previous hit", onclick: () => this.#step(-1) },
        icon("chevron"),
      ),
      h(
        "button",
        { class: "icon-button next", "aria-label": "Next hit", onclick: () => this.#step(1) },
        icon("chevron"),
      ),
      h("button", { class: "icon-button", "aria-label": "Close find", onclick: () => this.close() }, icon("cross")),
    );
    this.listen(this.#field, "input", () => this.#typed());
    this.listen(this.#field, "keydown", (event) => this.#pressed(event));
    this.hold(() => clearHighlight());
  }

  open() {
    this.hidden = false;
    this.#field.focus();
    this.#field.select();
  }

  close() {
    this.hidden = true;
    this.#search?.abort();
    clearHighlight();
  }

  /** @override */
  render() {
    const words = this.#field.value.trim();
    const more = this.#total > this.#hits.length ? "+" : "";
    if (this.#trouble) this.#count.textContent = this.#trouble;
    else if (!words) this.#count.textContent = "";
    else if (this.#search) this.#count.textContent = "Searching…";
    else this.#count.textContent = this.#hits.length ? `${this.#here + 1} of ${this.#hits.length}${more}` : "Not found";
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#run(), PAUSE_MS);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter") this.#step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  async #run() {
    this.#search?.abort();
    const words = this.#field.value.trim();
    this.#hits = [];
    this.#trouble = "";
    if (!words) return this.render();
    const search = new AbortController();
    this.#search = search;
    this.render();
    try {
      const { items, total } = await this.commands.find(words, search.signal);
      if (this.#search !== search) return;
      this.#hits = items;
      this.#total = total ?? items.length;
    } catch (error) {
      if (search.signal.aborted) return;
      this.#trouble = inWords(error);
    }
    this.#search = null;
    // The newest hit first: a reader is at the end more often than at the beginning.
    this.#here = this.#hits.length - 1;
    await this.#go();
  }

  /** @param {number} by */
  #step(by) {
    if (this.#hits.length === 0) return;
    this.#here = (this.#here + by + this.#hits.length) % this.#hits.length;
    void this.#go();
  }

  async #go() {
    this.render();
    const hit = this.#hits[this.#here];
    if (!hit) return clearHighlight();
    const element = await this.reveal(hit.key);
    if (element) highlight(element, this.#field.value.trim());
  }
}

/** Mark the words inside a row, without touching its markup. @param {HTMLElement} element @param {string} words */
function highlight(element, words) {
  clearHighlight();
  element.classList.add("found");
  const registry = Reflect.get(CSS, "highlights");
  const Highlight = Reflect.get(globalThis, "Highlight");
  if (!registry || !Highlight) return;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const ranges = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    ranges.push(...rangesIn(/** @type {Text} */ (node), words));
  registry.set(HIGHLIGHT, new Highlight(...ranges));
}

/** @param {Text} node @param {string} words */
function rangesIn(node, words) {
  const [text, wanted] = [node.data.toLowerCase(), words.toLowerCase()];
  const ranges = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
    const range = new Range();
    range.setStart(node, at);
    range.setEnd(node, Math.min(node.length, at + wanted.length));
    ranges.push(range);
  }
  return ranges;
}

function clearHighlight() {
  Reflect.get(CSS, "highlights")?.delete(HIGHLIGHT);
  for (const found of document.querySelectorAll(".found")) found.classList.remove("found");
}

customElements.define("handrail-find", HandrailFind);
