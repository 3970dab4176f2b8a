/**
 * What a person has chosen so far, question by question, and the answer that it makes.
 */

/** @import { Answer, Json, Question } from "../types.js" */

/**
 * What was chosen for one question.
 * @typedef {{ picked: string[], own: string, useOwn: boolean, skipped: boolean }} Choice
 */

export class QuestionChoices {
  #questions;
  /** @type {Choice[]} */
  #choices;
  #changed;

  /** @param {Question[]} questions @param {unknown} kept a draft of `draft()` @param {() => void} changed */
  constructor(questions, kept, changed) {
    this.#questions = questions;
    this.#changed = changed;
    this.#choices =
      Array.isArray(kept) && kept.length === questions.length
        ? kept
        : questions.map(() => ({ picked: [], own: "", useOwn: false, skipped: false }));
  }

  /** To be kept over a reload. */
  draft() {
    return this.#choices;
  }

  /** @param {number} index @returns {Choice} */
  at(index) {
    return /** @type {Choice} */ (this.#choices[index]);
  }

  /** @param {number} index @param {string} label @param {boolean} on */
  pick(index, label, on) {
    const choice = this.at(index);
    const several = this.#questions[index]?.multi_select;
    if (!several) choice.useOwn = false;
    const others = several ? choice.picked.filter((each) => each !== label) : [];
    choice.picked = on ? [...others, label] : others;
    this.#told(choice);
  }

  /** Answer in one's own words, or not after all. @param {number} index @param {string} words @param {boolean} on */
  say(index, words, on) {
    const choice = this.at(index);
    choice.own = words;
    choice.useOwn = on;
    if (on && !this.#questions[index]?.multi_select) choice.picked = [];
    this.#told(choice);
  }

  /** @param {number} index */
  skip(index) {
    this.at(index).skipped = true;
    this.#changed();
  }

  /** @param {number} index @returns {string[]} */
  chosen(index) {
    const { picked, own, useOwn, skipped } = this.at(index);
    if (skipped) return [];
    return useOwn && own.trim() ? [...picked, own.trim()] : picked;
  }

  /** @param {number} index */
  isAnswered(index) {
    return index < this.#choices.length && this.chosen(index).length > 0;
  }

  get anyAnswered() {
    return this.#choices.some((_, index) => this.isAnswered(index));
  }

  /** Keyed by the question's text, as the CLI wants it; what is left open is said to be so on purpose. */
  /** @returns {Answer} */
  answer() {
    /** @type {Record<string, Json>} */
    const answers = {};
    for (const [index, question] of this.#questions.entries()) {
      const chosen = this.chosen(index);
      if (chosen.length) answers[question.text] = question.multi_select ? chosen : (chosen[0] ?? "");
    }
    const partial = Object.keys(answers).length < this.#questions.length;
    return { type: "answers", answers, ...(partial && { partial }) };
  }

  /** @param {Choice} choice */
  #told(choice) {
    choice.skipped = false;
    this.#changed();
  }
}
