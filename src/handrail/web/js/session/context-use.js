/**
 * How full the context is, and of what.
 */

/** @import { ContextUse } from "./commands.js" */
/** @import { ItemContext } from "./items.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement } from "../dom.js";
import { percent, tokens } from "../format.js";
import { isReachable } from "../hosts/words.js";
import { icon } from "../icons.js";

const NEARLY_FULL = 0.8;

export class HandrailContextUse extends HandrailElement {
  /** @type {ItemContext} */ context = /** @type {any} */ (null);

  #words = h("span", { class: "num" });
  #bar = h("div");
  #parts = h("div", { class: "context-parts", hidden: true });
  #toggle = h(
    "button",
    { class: "quiet breakdown", "aria-expanded": "false", onclick: () => void this.#flip() },
    icon("chevron"),
    "Breakdown",
  );

  /** @override */
  mount() {
    this.watch(this.context.model.state);
    fill(
      this,
      h("div", { class: "meter-words" }, h("h3", null, "Context"), this.#words),
      this.#bar,
      this.#toggle,
      this.#parts,
    );
  }

  /** @override */
  render() {
    const state = this.context.model.state.value;
    const { tokens: used = 0, window = 0 } = state?.context ?? {};
    const share = window ? used / window : 0;
    fill(
      this.#words,
      window
        ? `${percent(share)} · ${tokens(used)} of ${tokens(window)}`
        : used
          ? `${tokens(used)} tokens`
          : "empty so far",
    );
    fill(this.#bar, meter(share, "Context used"));
    this.#toggle.hidden = !state?.live || !isReachable(state);
  }

  async #flip() {
    const open = this.#parts.hidden;
    this.#parts.hidden = !open;
    this.#toggle.setAttribute("aria-expanded", String(open));
    if (!open) return;
    fill(this.#parts, h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Asking Claude Code…"));
    try {
      fill(this.#parts, breakdown(await this.context.commands.contextUse()));
    } catch (error) {
      fill(this.#parts, h("p", { class: "quiet-text" }, inWords(error)));
    }
  }
}

/** What takes how much, the largest first; what is free last. @param {ContextUse} use */
export function breakdown(use) {
  const isFree = (/** @type {string} */ name) => /free space/i.test(name);
  const parts = use.categories
    .filter(({ tokens: count }) => count > 0)
    .sort((a, b) => Number(isFree(a.name)) - Number(isFree(b.name)) || b.tokens - a.tokens);
  return [
    h(
      "table",
      { class: "context-table" },
      h("caption", { class: "visually-hidden" }, "What the context holds"),
      h(
        "tbody",
        null,
        parts.map(({ name, tokens: count }) =>
          h(
            "tr",
            { class: isFree(name) && "free" },
            h("th", { scope: "row" }, name),
            h("td", { class: "num" }, tokens(count)),
            h("td", { class: "num" }, use.max_tokens ? percent(count / use.max_tokens) : ""),
          ),
        ),
      ),
    ),
    use.auto_compact_threshold
      ? h("p", { class: "quiet-text" }, `It is compacted at ${tokens(use.auto_compact_threshold)}.`)
      : null,
  ];
}

/** A bar from 0 to 1. The number beside it says the same. @param {number} share @param {string} label */
export function meter(share, label) {
  const bar = h("div", { class: "meter-bar" });
  bar.style.inlineSize = `${Math.min(100, Math.max(0, share * 100)).toFixed(1)}%`;
  return h(
    "div",
    {
      class: ["meter", share >= NEARLY_FULL && "nearly-full"],
      role: "meter",
      "aria-label": label,
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": String(Math.round(share * 100)),
    },
    bar,
  );
}

customElements.define("handrail-context-use", HandrailContextUse);
