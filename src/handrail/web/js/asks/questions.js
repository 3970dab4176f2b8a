/**
 * Claude's questions, one at a time: options, several where that is allowed, words of one's own; back, skip, and a
 * look at everything before it is sent.
 */

/** @import { QuestionsWhat } from "../types.js" */
/** @import { Act } from "./panel.js" */

import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { keyHint } from "../keys.js";
import { AskPanel } from "./panel.js";
import { QuestionChoices } from "./question-choices.js";
import { questionText } from "./question-summary.js";
import { questionView } from "./question-view.js";
import { focusSoon, reasonForm } from "./reason.js";
import { askBody } from "./what.js";

const NOTHING = { type: "answers", answers: {}, partial: true };

export class HandrailQuestions extends AskPanel {
  #body = h("div", { class: "ask-body questions" });
  #answers = h("div", { class: "ask-answers" });
  #choices = new QuestionChoices([], null, () => {});
  #at = 0;

  /** @override */
  build() {
    this.#choices = new QuestionChoices(this.#questions, this.page.drafts.get(this.draftName), () => this.#changed());
    this.#at = 0;
    fill(this, this.#body, this.#answers);
    this.#show();
  }

  /** @override @param {Act} act */
  act(act) {
    if (act === "allow") this.#next();
    else if (act === "deny") this.#skip();
    else return false;
    return true;
  }

  get #questions() {
    return /** @type {QuestionsWhat} */ (this.card.what).questions;
  }

  /** After the last question of several comes a look at all answers. */
  get #isReview() {
    return this.#at === this.#questions.length;
  }

  get #isLast() {
    return this.#isReview || this.#questions.length === 1;
  }

  // ---------------------------------------------------------------- showing

  #show() {
    fill(
      this.#body,
      this.#steps(),
      this.#isReview ? this.#review() : this.#question(),
      this.#at === 0 && askBody(this.card),
    );
    this.#offer();
  }

  #question() {
    const question = this.#questions[this.#at];
    if (!question) return null;
    const name = `question-${this.card.ask_id}-${this.#at}`;
    return questionView({ question, index: this.#at, choices: this.#choices, name, done: () => this.#next() });
  }

  #steps() {
    const questions = this.#questions;
    if (questions.length < 2) return null;
    const names = [...questions.map(({ header }, index) => header || `Question ${index + 1}`), "Review"];
    return h(
      "ol",
      { class: "question-steps", "aria-label": "Questions" },
      names.map((name, index) => this.#step(name, index)),
    );
  }

  /** @param {string} name @param {number} index */
  #step(name, index) {
    const mark = this.#choices.isAnswered(index)
      ? icon("check", { label: "answered" })
      : h("span", { class: "num" }, index + 1);
    const current = index === this.#at ? "step" : null;
    const go = () => this.#go(index);
    return h(
      "li",
      null,
      h("button", { type: "button", class: "quiet", "aria-current": current, onclick: go }, mark, name),
    );
  }

  #review() {
    return h(
      "dl",
      { class: "question-review" },
      this.#questions.map((question, index) => [
        h("dt", null, questionText(question)),
        h(
          "dd",
          null,
          this.#reviewed(index),
          " ",
          h("button", { class: "link", type: "button", onclick: () => this.#go(index) }, "Change"),
        ),
      ]),
    );
  }

  /** @param {number} index */
  #reviewed(index) {
    if (!this.#choices.isAnswered(index)) {
      return h("span", { class: "quiet-text" }, "skipped: Claude is told that you left it open");
    }
    return this.#choices.chosen(index).map(visible).join(", ");
  }

  #offer() {
    this.#answers.classList.remove("asking-more");
    const ready = this.#isReview ? this.#choices.anyAnswered : this.#choices.isAnswered(this.#at);
    fill(
      this.#answers,
      h(
        "button",
        {
          class: "primary allow",
          type: "button",
          disabled: !ready,
          dataset: { act: "allow" },
          onclick: () => this.#next(),
        },
        this.#isLast ? [icon("send"), "Send"] : "Next",
        keyHint("allow"),
      ),
      h(
        "div",
        { class: "ask-more" },
        this.#at > 0 &&
          h("button", { type: "button", dataset: { act: "back" }, onclick: () => this.#go(this.#at - 1) }, "Back"),
        h(
          "button",
          { class: "quiet", type: "button", dataset: { act: "reply" }, onclick: () => this.#reply() },
          "Reply in your own words instead…",
        ),
      ),
      h(
        "div",
        { class: "ask-deny" },
        h(
          "button",
          { class: "deny", type: "button", dataset: { act: "skip" }, onclick: () => this.#skip() },
          this.#isLast ? "Skip all" : "Skip",
          keyHint("deny"),
        ),
      ),
    );
  }

  #changed() {
    this.page.drafts.set(this.draftName, this.#choices.draft());
    this.#offer();
  }

  // ---------------------------------------------------------------- moving and sending

  /** @param {number} index */
  #go(index) {
    this.#at = index;
    this.#show();
    const first = this.#body.querySelector("input:checked") ?? this.#body.querySelector("input");
    if (first instanceof HTMLElement) focusSoon(first);
  }

  #next() {
    if (!this.#isLast) return this.#choices.isAnswered(this.#at) ? this.#go(this.#at + 1) : undefined;
    if (!this.#choices.anyAnswered) return;
    this.answer(this.#choices.answer(), "Sending your answers…");
  }

  #skip() {
    if (this.#isLast) return this.answer(NOTHING, "Skipping…");
    this.#choices.skip(this.#at);
    this.#go(this.#at + 1);
  }

  #reply() {
    this.#answers.classList.add("asking-more");
    fill(
      this.#answers,
      reasonForm({
        label: "Your reply, in place of answers",
        act: "Send the reply",
        needed: true,
        run: (response) => this.answer({ type: "answers", answers: {}, response }, "Sending your reply…"),
        back: () => this.#offer(),
      }),
    );
  }
}

/** Hidden characters of an option's raw label do not reach the summary. @param {string} text */
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu, "\ufffd");
}

customElements.define("handrail-questions", HandrailQuestions);
