/**
 * What a plan asks leave for beforehand: rules that can be read, given one by one.
 */

/** @import { Card, PromptRule } from "../types.js" */

import { h } from "../dom.js";

export class PlanLeave {
  #element;

  /** @param {Card} card @param {boolean} owner only an owner adds rules */
  constructor(card, owner) {
    const prompts = card.prompt_rules ?? [];
    this.#element = prompts.length
      ? h(
          "fieldset",
          { class: "plan-leave" },
          h("legend", null, "The plan asks leave beforehand for"),
          prompts.map((prompt) => promptBox(prompt, owner)),
          !owner && h("p", { class: "quiet-text" }, "Rules need an owner: you are asked for each."),
        )
      : null;
  }

  /** Null if the plan asks for nothing. */
  get element() {
    return this.#element;
  }

  /** The positions of what was ticked. */
  get given() {
    const ticked = this.#element?.querySelectorAll("input:checked") ?? [];
    return [...ticked].map((box) => Number(/** @type {HTMLInputElement} */ (box).value));
  }
}

/** @param {PromptRule} prompt @param {boolean} owner */
function promptBox({ position, prompt, rules }, owner) {
  const covered = rules.length
    ? h("code", null, rules.join(", "))
    : h("span", { class: "quiet-text" }, "it names no command: you are asked when it comes");
  const box = h("input", { type: "checkbox", name: "leave", value: position, disabled: !rules.length || !owner });
  return h("label", null, box, h("span", null, prompt, " ", covered));
}
