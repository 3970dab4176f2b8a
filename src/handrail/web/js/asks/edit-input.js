/**
 * Changing the input of a tool call before it is allowed: each text as text, everything else as JSON.
 */

/** @import { Json } from "../types.js" */

import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { focusSoon } from "./reason.js";

/** What people mostly want to change. */
const USUAL = new Set(["command", "content", "new_string", "url"]);

/**
 * @param {{ [name: string]: Json }} input
 * @param {{ run(changed: { [name: string]: Json }): void, back(): void }} how
 */
export function inputEditor(input, { run, back }) {
  const problem = h("p", { class: "problem", role: "alert" });
  problem.hidden = true;
  const editors = Object.entries(input).map(([name, value]) => fieldEditor(name, value));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      run(Object.fromEntries(editors.map(({ name, read }) => [name, read()])));
    } catch (error) {
      fill(problem, icon("alert"), " ", error instanceof Error ? error.message : String(error));
      problem.hidden = false;
    }
  };
  const form = h(
    "form",
    { class: "ask-edit", onsubmit: submit },
    editors.map(({ element }) => element),
    problem,
    h(
      "div",
      { class: "ask-row" },
      h("button", { type: "button", class: "quiet", onclick: back }, "Back"),
      h("span", { class: "spacer" }),
      h("button", { class: "primary", dataset: { act: "send" } }, icon("check"), "Allow with these changes"),
    ),
  );
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") back();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const names = editors.map(({ name }) => name);
  const first =
    form.querySelectorAll("textarea")[
      Math.max(
        0,
        names.findIndex((name) => USUAL.has(name)),
      )
    ];
  if (first) focusSoon(first);
  return form;
}

/** @param {string} name @param {Json} value */
function fieldEditor(name, value) {
  const isText = typeof value === "string";
  const field = h(
    "textarea",
    { class: "mono", spellcheck: "false", autocapitalize: "off", rows: isText ? 2 : 1, name },
    isText ? value : JSON.stringify(value, null, 2),
  );
  const read = () => {
    if (isText) return field.value;
    try {
      return /** @type {Json} */ (JSON.parse(field.value));
    } catch (error) {
      throw new Error(`${name} is not JSON: ${error instanceof Error ? error.message : error}. Nothing was sent.`);
    }
  };
  return {
    name,
    read,
    element: h("label", null, h("span", null, name, !isText && h("span", { class: "quiet-text" }, " JSON")), field),
  };
}
