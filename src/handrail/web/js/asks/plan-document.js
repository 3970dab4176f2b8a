/**
 * A plan as a document: in parts, each of which can be commented on in the gutter beside it.
 */

/** @import { PlanBlock, PlanWhat } from "../types.js" */

import { fill, h } from "../dom.js";
import { setHtml } from "../html.js";
import { icon } from "../icons.js";
import { focusSoon } from "./reason.js";

/** The parts of a plan; one if the hub did not take it apart. @param {PlanWhat} what @returns {PlanBlock[]} */
export function blocksOf(what) {
  return what.blocks?.length ? what.blocks : [{ html: what.html, text: what.text }];
}

/** A plan to read. @param {PlanWhat} what */
export function planShown(what) {
  return setHtml(h("div", { class: "plan-document prose" }), what.html);
}

/**
 * A plan to review.
 * @param {PlanWhat} what
 * @param {Comments} comments
 */
export function planDocument(what, comments) {
  return h(
    "div",
    { class: "plan-document" },
    blocksOf(what).map((block, index) => part(block, index, comments)),
  );
}

/**
 * Comments by the number of the part. The owner is told of each change.
 */
export class Comments {
  /** @type {Map<number, string>} */
  texts;
  #changed;

  /** @param {[number, string][]} kept @param {() => void} changed */
  constructor(kept, changed) {
    this.texts = new Map(kept);
    this.#changed = changed;
  }

  /** @param {number} index @param {string} text */
  set(index, text) {
    if (text.trim()) this.texts.set(index, text);
    else this.texts.delete(index);
    this.#changed();
  }

  /** What Claude is told: each comment under what it is about, in the plan's order. @param {PlanBlock[]} blocks */
  feedback(blocks) {
    return [...this.texts]
      .sort(([a], [b]) => a - b)
      .map(([index, text]) => `${quoted(blocks[index]?.text ?? "")}\n\n${text.trim()}`)
      .join("\n\n");
  }
}

const LONGEST_QUOTE = 4;

/** @param {string} text */
function quoted(text) {
  const lines = text.trim().split("\n");
  const shown = lines.length > LONGEST_QUOTE ? [...lines.slice(0, LONGEST_QUOTE - 1), "…"] : lines;
  return shown.map((line) => `> ${line}`).join("\n");
}

/** @param {PlanBlock} block @param {number} index @param {Comments} comments */
function part(block, index, comments) {
  const note = h("div", { class: "plan-note" });
  const add = h(
    "button",
    {
      type: "button",
      class: "icon-button plan-add",
      title: "Comment on this",
      "aria-label": `Comment on: ${block.text.trim().slice(0, 60)}`,
      onclick: () => write(),
    },
    icon("comment"),
  );
  const row = h(
    "div",
    { class: "plan-part", dataset: { part: index } },
    add,
    setHtml(h("div", { class: "plan-text prose" }), block.html),
    note,
  );

  const show = () => {
    const text = comments.texts.get(index);
    row.classList.toggle("commented", Boolean(text));
    fill(
      note,
      text &&
        h(
          "div",
          { class: "plan-comment" },
          h("p", null, text),
          h(
            "div",
            { class: "ask-row" },
            h("button", { type: "button", class: "link", onclick: () => write() }, "Edit"),
            h("button", { type: "button", class: "link", onclick: () => (comments.set(index, ""), show()) }, "Remove"),
          ),
        ),
    );
  };
  const write = () =>
    fill(
      note,
      commentForm(comments.texts.get(index) ?? "", {
        save: (text) => (comments.set(index, text), show(), add.focus()),
        back: () => (show(), add.focus()),
      }),
    );
  show();
  return row;
}

/** @param {string} text @param {{ save(text: string): void, back(): void }} how */
function commentForm(text, { save, back }) {
  const field = h("textarea", { rows: 2, "aria-label": "Comment", placeholder: "What should change here?" }, text);
  const form = h(
    "form",
    { class: "plan-writing", onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), save(field.value)) },
    field,
    h(
      "div",
      { class: "ask-row" },
      h("button", { type: "button", class: "quiet", onclick: back }, "Cancel"),
      h("span", { class: "spacer" }),
      h("button", { class: "primary" }, "Comment"),
    ),
  );
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") back();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey || !event.shiftKey) && !event.isComposing)
      save(field.value);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  focusSoon(field);
  return form;
}
