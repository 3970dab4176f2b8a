/**
 * Questions that this page asks before it does something, over the page.
 */

/** @import { Child } from "../types.js" */

import { inWords } from "../api.js";
import { fill, h } from "../dom.js";

/**
 * Ask before doing something. The button says what will happen; while it happens it says so, and what goes wrong is
 * told in place, so that nothing has to be typed again.
 * @param {object} how
 * @param {string} how.title
 * @param {Child[]} how.body
 * @param {string} how.action    what the button says
 * @param {boolean} [how.danger]
 * @param {() => Promise<unknown>} how.run
 * @returns {Promise<boolean>} whether it was done
 */
export function confirmThen({ title, body, action, danger = false, run }) {
  const trouble = h("p", { class: "problem", role: "alert", hidden: true });
  const button = h("button", { class: ["primary", danger && "danger"], "data-action": "confirm" }, action);
  const cancel = h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel");
  // The fields are inside it, so that Enter in one of them does it.
  const form = h("form", null, body, trouble, h("div", { class: "confirm-buttons" }, button, cancel));
  const dialog = h("dialog", { class: "sheet", "aria-label": title }, h("h2", null, title), form);
  let done = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    fill(button, h("span", { class: "spinner" }), action);
    try {
      await run();
      done = true;
      dialog.close();
    } catch (error) {
      trouble.textContent = inWords(error);
      trouble.hidden = false;
      button.disabled = false;
      fill(button, action);
    }
  });
  return shown(dialog).then(() => done);
}

/**
 * Ask for a line of text.
 * @param {{ title: string, label: string, value: string, action: string, run: (value: string) => Promise<unknown> }} how
 */
export function askForText({ title, label, value, action, run }) {
  const field = h("input", { type: "text", ".value": value, maxlength: "200", required: true, autofocus: true });
  return confirmThen({
    title,
    body: [h("label", { class: "confirm-field" }, h("span", null, label), field)],
    action,
    run: () => run(field.value.trim()),
  });
}

/** Show a dialog until it is closed. @param {HTMLDialogElement} dialog @returns {Promise<void>} */
export function shown(dialog) {
  // Inside the app, so that elements in it find what the page shares.
  (document.querySelector("handrail-app") ?? document.body).append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve();
    });
  });
}
