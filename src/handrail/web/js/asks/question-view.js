/**
 * One question with its options, a place for words of one's own, and the preview of the option that is looked at.
 */

/** @import { Question } from "../types.js" */
/** @import { QuestionChoices } from "./question-choices.js" */

import { h } from "../dom.js";
import { setHtml } from "../html.js";
import { optionDescription, optionLabel, questionText } from "./question-summary.js";

/**
 * @typedef {object} QuestionPlace
 * @property {Question} question
 * @property {number} index
 * @property {QuestionChoices} choices
 * @property {string} name of the group of controls
 * @property {() => void} done enter was pressed after words of one's own
 */

/** @param {QuestionPlace} place */
export function questionView(place) {
  const { question, index } = place;
  const preview = previewOf(place);
  return h(
    "div",
    { class: "question", dataset: { question: index } },
    questionText(question),
    question.multi_select && h("p", { class: "quiet-text" }, "Choose as many as you like."),
    h(
      "div",
      { class: ["question-choices", preview && "with-preview"] },
      h(
        "div",
        {
          class: "question-options",
          role: question.multi_select ? "group" : "radiogroup",
          "aria-label": question.header || question.text,
        },
        question.options.map((option) => optionView(place, option, preview)),
        ownWords(place),
      ),
      preview?.element,
    ),
  );
}

/** @typedef {{ element: HTMLElement, show(label: string): void }} Preview */

/** Null if no option has one. @param {QuestionPlace} place @returns {Preview | null} */
function previewOf({ question, index, choices }) {
  if (!question.options.some((option) => option.preview_html)) return null;
  const element = h("div", { class: "question-preview prose", "aria-live": "polite" });
  const show = (/** @type {string} */ label) => {
    const html = question.options.find((option) => option.label === label)?.preview_html;
    element.hidden = !html;
    if (html) setHtml(element, html);
  };
  show(choices.at(index).picked[0] ?? "");
  return { element, show };
}

/** @param {QuestionPlace} place @param {Question["options"][number]} option @param {Preview | null} preview */
function optionView({ question, index, choices, name }, option, preview) {
  const box = h("input", {
    type: question.multi_select ? "checkbox" : "radio",
    name,
    ".checked": choices.at(index).picked.includes(option.label),
    onchange: () => choices.pick(index, option.label, box.checked),
  });
  const look = () => preview?.show(option.label);
  return h(
    "label",
    { class: "question-option", onpointerenter: look, onfocusin: look },
    box,
    h("span", null, optionLabel(option), optionDescription(option)),
  );
}

/** @param {QuestionPlace} place */
function ownWords({ question, index, choices, name, done }) {
  const { own, useOwn } = choices.at(index);
  const field = h(
    "textarea",
    { rows: 1, "aria-label": "In your own words", placeholder: "Something else, in your own words" },
    own,
  );
  const box = h("input", {
    type: question.multi_select ? "checkbox" : "radio",
    name,
    ".checked": useOwn,
    "aria-label": "Something else",
    onchange: () => {
      choices.say(index, field.value, box.checked);
      if (box.checked) field.focus();
    },
  });
  field.addEventListener("input", () => {
    box.checked = Boolean(field.value.trim());
    choices.say(index, field.value, box.checked);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    done();
  });
  return h("div", { class: "question-option" }, box, field);
}
