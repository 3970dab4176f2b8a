/**
 * What becomes of a call: typed as in a rule, answered with the rule that decides.
 */

import { inWords } from "../api.js";
import { fill, h, HandrailElement } from "../dom.js";
import { icon } from "../icons.js";
import { MODES } from "../session/modes.js";

/**
 * @typedef {object} Explained
 * @property {string} behavior
 * @property {string} [reason]
 * @property {string | null} [rule]
 * @property {string | null} [source]
 * @property {string | null} [path]
 * @property {number | null} [line]
 * @property {string[]} [steps]
 */

/** @type {Record<string, { words: string, tone: string, icon: import("../icons.js").IconName }>} */
const OUTCOMES = {
  allow: { words: "Allowed", tone: "done", icon: "check" },
  deny: { words: "Denied", tone: "failed", icon: "cross" },
  ask: { words: "You are asked", tone: "needs-you", icon: "bell" },
};

export class HandrailExplain extends HandrailElement {
  cwd = "";
  #call = h("input", {
    type: "text",
    class: "mono",
    placeholder: "Bash(git push origin main)",
    "aria-label": "A call",
    autocapitalize: "off",
    spellcheck: "false",
    autocomplete: "off",
  });
  #mode = h(
    "select",
    { "aria-label": "Permission mode" },
    MODES.map(({ mode, words }) => h("option", { value: mode }, words)),
  );
  #answer = h("div", { class: "explained", role: "status" });

  /** @override */
  mount() {
    const form = h(
      "form",
      { class: "explain-form" },
      this.#call,
      this.#mode,
      h("button", { type: "submit" }, "Explain"),
    );
    this.listen(form, "submit", (event) => {
      event.preventDefault();
      void this.#ask();
    });
    fill(this, form, this.#answer);
  }

  async #ask() {
    const call = this.#call.value.trim();
    if (!call)
      return fill(
        this.#answer,
        h(
          "p",
          { class: "quiet-text" },
          "Write a call as in a rule: Bash(make test), Edit(src/app.py), WebFetch(https://example.org).",
        ),
      );
    fill(this.#answer, h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Looking…"));
    try {
      fill(
        this.#answer,
        shown(
          await this.page.api.get("/api/policy/explain", { query: { call, mode: this.#mode.value, cwd: this.cwd } }),
        ),
      );
    } catch (error) {
      fill(this.#answer, h("p", { class: "problem" }, inWords(error)));
    }
  }
}

/** @param {Explained} explained */
function shown({ behavior, reason, rule, path, line, source, steps = [] }) {
  const outcome = OUTCOMES[behavior] ?? { words: behavior, tone: "", icon: "circle" };
  return [
    h(
      "p",
      { class: "verdict" },
      h("span", { class: "chip", "data-tone": outcome.tone }, icon(outcome.icon), outcome.words),
      h("span", null, reason),
    ),
    rule &&
      h(
        "p",
        { class: "quiet-text" },
        "by the rule ",
        h("code", null, rule),
        path ? [" in ", h("span", { class: "mono" }, line ? `${path}:${line}` : path)] : source ? ` (${source})` : "",
      ),
    steps.length > 0 &&
      h(
        "ol",
        { class: "steps-list" },
        steps.map((step) => h("li", null, step)),
      ),
  ];
}

customElements.define("handrail-explain", HandrailExplain);
