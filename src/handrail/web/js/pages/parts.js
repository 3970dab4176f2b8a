/**
 * Parts that several pages have: a row of choices, a section with a title, a button that says what it is doing.
 */

/** @import { Child } from "../types.js" */

import { inWords } from "../api.js";
import { fill, h } from "../dom.js";

let made = 0;

/**
 * One of a few, all of them in view.
 * @template T
 * @param {string} name
 * @param {{ value: T, words: string }[]} options
 * @param {T} current
 * @param {(value: T) => void} choose
 */
export function choices(name, options, current, choose) {
  const group = `choices-${++made}`;
  return h(
    "fieldset",
    { class: "choices" },
    h("legend", { class: "visually-hidden" }, name),
    options.map(({ value, words }) =>
      h(
        "label",
        null,
        h("input", {
          type: "radio",
          name: group,
          class: "visually-hidden",
          ".checked": value === current,
          onchange: () => choose(value),
        }),
        h("span", null, words),
      ),
    ),
  );
}

/** @param {string} title @param {string} hint @param {...Child} children */
export function section(title, hint, ...children) {
  return h(
    "section",
    { class: "settings-section" },
    h("h2", null, title),
    hint && h("p", { class: "quiet-text" }, hint),
    children,
  );
}

/**
 * A button that does something that takes a moment, and says what went wrong beside it.
 * @param {object} how
 * @param {Child[]} how.label
 * @param {() => Promise<unknown>} how.run
 * @param {string} [how.class]
 * @param {string} [how.doing]  what it says meanwhile
 * @param {string} [how.name]
 */
export function actButton({ label, run, class: kind, doing = "", name }) {
  const trouble = h("span", { class: "act-trouble", role: "alert" });
  const button = h("button", { type: "button", class: kind, "aria-label": name });
  fill(button, label);
  button.addEventListener("click", async () => {
    button.disabled = true;
    trouble.textContent = "";
    fill(button, h("span", { class: "spinner" }), doing || label);
    try {
      await run();
    } catch (error) {
      trouble.textContent = inWords(error);
    }
    button.disabled = false;
    fill(button, label);
  });
  return h("span", { class: "act" }, button, trouble);
}

/** A labelled field. @param {string} label @param {HTMLElement} control @param {string} [hint] */
export function field(label, control, hint = "") {
  const id = `field-${++made}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    control,
    hint && h("span", { class: "quiet-text", id: `${id}-hint` }, hint),
  );
}
