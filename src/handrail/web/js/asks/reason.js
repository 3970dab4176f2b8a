/**
 * Saying why not: a line to Claude that goes with a denial.
 */

import { h } from "../dom.js";

/**
 * @param {object} how
 * @param {string} how.label
 * @param {string} how.act what the button says
 * @param {string} [how.stop] what the second button says, which also ends the turn
 * @param {boolean} [how.needed] whether nothing can be sent without words
 * @param {string} [how.text] what is there to begin with
 * @param {(reason: string, interrupt: boolean) => void} how.run
 * @param {() => void} how.back
 */
export function reasonForm({ label, act, stop, needed = false, text = "", run, back }) {
  const field = h(
    "textarea",
    { rows: 2, required: needed, "aria-label": label, placeholder: label, name: "reason" },
    text,
  );
  const send = (/** @type {boolean} */ interrupt) => {
    if (needed && !field.value.trim()) return field.focus();
    run(field.value.trim(), interrupt);
  };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") back();
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  focusSoon(field);
  return h(
    "form",
    { class: "ask-reason", onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), send(false)) },
    field,
    h(
      "div",
      { class: "ask-row" },
      h("button", { type: "button", class: "quiet", onclick: back }, "Back"),
      h("span", { class: "spacer" }),
      stop && h("button", { type: "button", onclick: () => send(true) }, stop),
      h("button", { class: "primary", dataset: { act: "send" } }, act),
    ),
  );
}

/** Once it is in the page, but before another key can be pressed. @param {HTMLElement} field */
export function focusSoon(field) {
  queueMicrotask(() => {
    field.focus();
    field.closest("form")?.scrollIntoView({ block: "nearest" });
  });
}
