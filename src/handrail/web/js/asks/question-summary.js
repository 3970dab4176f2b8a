/**
 * Questions to read, without the wizard: after the answer, or for those who cannot answer.
 */

/** @import { Question, QuestionsWhat } from "../types.js" */

import { h } from "../dom.js";
import { setHtml } from "../html.js";

/** @param {QuestionsWhat} what */
export function questionsShown(what) {
  return h(
    "div",
    { class: "questions-shown" },
    what.questions.map((question) => [
      questionText(question),
      h(
        "ul",
        null,
        question.options.map((option) =>
          h(
            "li",
            null,
            optionLabel(option),
            option.description && h("span", { class: "quiet-text" }, ` ${option.description}`),
          ),
        ),
      ),
    ]),
  );
}

/** @param {Question} question */
export function questionText(question) {
  const element = h("div", { class: "question-text prose" });
  return question.html ? setHtml(element, question.html) : (element.append(question.text), element);
}

/** @param {Question["options"][number]} option */
export function optionLabel(option) {
  const element = h("span", { class: "option-label" });
  return option.label_html ? setHtml(element, option.label_html) : (element.append(option.label), element);
}

/** @param {Question["options"][number]} option */
export function optionDescription(option) {
  if (!option.description) return null;
  const element = h("span", { class: "quiet-text option-description" });
  return option.description_html
    ? setHtml(element, option.description_html)
    : (element.append(option.description), element);
}
