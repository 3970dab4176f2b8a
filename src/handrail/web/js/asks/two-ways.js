/**
 * Asks with two ways to go: entering plan mode, a budget that is spent; and dialogs, whose reply is JSON.
 */

/** @import { Answer, Json } from "../types.js" */
/** @import { Act } from "./panel.js" */

import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { keyHint } from "../keys.js";
import { AskPanel } from "./panel.js";
import { focusSoon } from "./reason.js";
import { askBody } from "./what.js";

/** @typedef {{ words: string, hint: string, doing: string, answer: Answer }} Way */

/** @type {Record<string, [Way, Way]>} */
const WAYS = {
  enter_plan: [
    {
      words: "Plan first",
      hint: "Claude looks around and proposes a plan before it changes anything.",
      doing: "Entering plan mode…",
      answer: { type: "enter_plan" },
    },
    {
      words: "Start now",
      hint: "Claude goes on without a plan.",
      doing: "Telling Claude to go on…",
      answer: { type: "implement_now" },
    },
  ],
  budget: [
    { words: "Go on", hint: "As much again may be spent.", doing: "Raising the budget…", answer: { type: "allow" } },
    {
      words: "Stop here",
      hint: "Nothing more is sent.",
      doing: "Stopping…",
      answer: { type: "deny", message: "the user decided not to go on" },
    },
  ],
};

export class HandrailTwoWays extends AskPanel {
  /** @override */
  build() {
    const [yes, no] = this.#ways;
    fill(
      this,
      h(
        "div",
        { class: "ask-body" },
        askBody(this.card),
        h(
          "ul",
          { class: "ask-ways quiet-text" },
          [yes, no].map((way) => h("li", null, h("strong", null, way.words), ": ", way.hint)),
        ),
      ),
      h(
        "div",
        { class: "ask-answers" },
        h(
          "button",
          { class: "primary allow", type: "button", dataset: { act: "allow" }, onclick: () => this.#take(yes) },
          icon("check"),
          yes.words,
          keyHint("allow"),
        ),
        h("div", { class: "ask-more" }),
        h(
          "div",
          { class: "ask-deny" },
          h(
            "button",
            { class: "deny", type: "button", dataset: { act: "deny" }, onclick: () => this.#take(no) },
            no.words,
            keyHint("deny"),
          ),
        ),
      ),
    );
  }

  /** @override @param {Act} act */
  act(act) {
    if (act !== "allow" && act !== "deny") return false;
    this.#take(this.#ways[act === "allow" ? 0 : 1]);
    return true;
  }

  get #ways() {
    return WAYS[this.card.kind] ?? /** @type {[Way, Way]} */ (WAYS.budget);
  }

  /** @param {Way} way */
  #take(way) {
    this.answer(way.answer, way.doing);
  }
}

/** A dialog of the CLI: what it wants is not known here, so the reply is JSON. */
export class HandrailDialog extends AskPanel {
  #field = h("textarea", {
    class: "mono",
    rows: 2,
    spellcheck: "false",
    "aria-label": "The reply, as JSON",
    placeholder: 'The reply, as JSON: "yes", 3, {"choice": 1}',
  });
  #problem = h("p", { class: "problem", role: "alert" });

  /** @override */
  build() {
    this.#problem.hidden = true;
    fill(
      this,
      h("div", { class: "ask-body" }, askBody(this.card), this.#field, this.#problem),
      h(
        "div",
        { class: "ask-answers" },
        h(
          "button",
          { class: "primary allow", type: "button", dataset: { act: "allow" }, onclick: () => this.#reply() },
          icon("check"),
          "Reply",
          keyHint("allow"),
        ),
        h("div", { class: "ask-more" }),
        h(
          "div",
          { class: "ask-deny" },
          h(
            "button",
            { class: "deny", type: "button", dataset: { act: "deny" }, onclick: () => this.act("deny") },
            "Close without a reply",
            keyHint("deny"),
          ),
        ),
      ),
    );
  }

  /** @override @param {Act} act */
  act(act) {
    if (act === "allow") focusSoon(this.#field);
    else if (act === "deny") this.answer({ type: "dialog_result", behavior: "cancelled" }, "Closing…");
    else return false;
    return true;
  }

  #reply() {
    try {
      const result = /** @type {Json} */ (JSON.parse(this.#field.value));
      this.answer({ type: "dialog_result", result }, "Replying…");
    } catch (error) {
      fill(
        this.#problem,
        icon("alert"),
        ` That is not JSON: ${error instanceof Error ? error.message : error}. Nothing was sent.`,
      );
      this.#problem.hidden = false;
    }
  }
}

customElements.define("handrail-two-ways", HandrailTwoWays);
customElements.define("handrail-dialog", HandrailDialog);
