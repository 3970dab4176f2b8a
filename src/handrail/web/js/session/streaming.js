/**
 * What Claude is writing now, below everything that is written: plain text that only grows, so that a frame costs one
 * append. The row that carries the whole block takes its place.
 */

/** @import { LiveBlock, LiveBlocks } from "./live-blocks.js" */

import { h } from "../dom.js";

/** @typedef {{ element: HTMLElement, text: Text, shown: string }} Shown */

export class Streaming {
  /** @type {Map<string, Shown>} */
  #shown = new Map();
  #place;

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#place = place;
  }

  /** @param {LiveBlocks} writing @param {Iterable<string>} changed  ids of blocks */
  show(writing, changed) {
    for (const id of changed) {
      const block = writing.blocks.get(id);
      // What a subagent writes is shown when it is written: its row is nested, this is not.
      if (block === undefined || block.parent !== null) this.#drop(id);
      else this.#grow(block);
    }
  }

  /** Whether a person has opened it. @param {string} id */
  isOpen(id) {
    return this.#shown.get(id)?.element.matches("details[open]") ?? false;
  }

  /** @param {string} id */
  #drop(id) {
    this.#shown.get(id)?.element.remove();
    this.#shown.delete(id);
  }

  /** @param {LiveBlock} block */
  #grow(block) {
    const shown = this.#shown.get(block.id) ?? this.#begin(block);
    const text = block.kind === "input" ? inputInWords(block) : block.text;
    if (text.startsWith(shown.shown)) shown.text.appendData(text.slice(shown.shown.length));
    else shown.text.data = text;
    shown.shown = text;
  }

  /** @param {LiveBlock} block @returns {Shown} */
  #begin(block) {
    const text = document.createTextNode("");
    const element = (FORMS[block.kind] ?? FORMS.text)(text);
    element.dataset.block = block.id;
    this.#place.append(element);
    const shown = { element, text, shown: "" };
    this.#shown.set(block.id, shown);
    return shown;
  }
}

const FORMS = {
  text: (/** @type {Text} */ text) =>
    h("div", { class: "item said streaming", "data-type": "text" }, h("div", { class: "plain" }, text)),
  thinking: (/** @type {Text} */ text) =>
    h(
      "details",
      { class: "item thought streaming", "data-type": "thinking" },
      h("summary", null, h("span", { class: "spinner", "aria-hidden": "true" }), "Thinking…"),
      h("div", { class: "plain" }, text),
    ),
  input: (/** @type {Text} */ text) =>
    h(
      "div",
      { class: "item doing streaming", "data-type": "input" },
      h("span", { class: "spinner", "aria-hidden": "true" }),
      text,
    ),
};

/** A call's input is JSON that is not whole yet: only how much there is of it can be told. @param {LiveBlock} block */
function inputInWords(block) {
  return block.length < 1000
    ? "Preparing a call…"
    : `Preparing a call… ${Math.round(block.length / 1000)} k characters`;
}
