/**
 * An ask on a phone: a sheet from the bottom, with the answers where the thumbs are and the rest to scroll above them.
 */

/** @import { Card } from "../types.js" */

import { HandrailAsk } from "../asks/ask.js";
import { isOpen } from "../asks/head.js";
import { fill, h, HandrailElement, make } from "../dom.js";
import { askKey } from "../home.js";
import { icon } from "../icons.js";

export class AskSheet extends HandrailElement {
  /** @type {Card | null} */
  card = null;
  /** What to show after this one. @type {() => Card | null} */
  next = () => null;
  #dialog = h("dialog", { class: "ask-sheet", "aria-label": "Needs you" });
  #footer = h("div", { class: "ask-sheet-foot" });
  #ask = make(HandrailAsk, { pinned: true });

  /** @override */
  mount() {
    fill(
      this.#dialog,
      h(
        "div",
        { class: "ask-sheet-head" },
        h(
          "button",
          { class: "icon-button", type: "button", "aria-label": "Close", onclick: () => this.#dialog.close() },
          icon("chevron"),
        ),
      ),
      this.#ask,
      this.#footer,
    );
    this.append(this.#dialog);
    this.listen(this.#dialog, "close", () => this.remove());
    this.listen(this.#dialog, "click", (event) => event.target === this.#dialog && this.#dialog.close());
    this.watch(this.page.home.asks, () => this.update());
    this.watch(this.page.home.answered, () => this.update());
    this.#dialog.showModal();
  }

  /** @override */
  render() {
    if (!this.card) return;
    const key = askKey(this.card.session, this.card.ask_id);
    const { asks, answered } = this.page.home;
    this.card = answered.value.get(key) ?? asks.value.get(key) ?? this.card;
    this.#ask.card = this.card;
    fill(this.#footer, !isOpen(this.card) && this.#afterwards());
  }

  #afterwards() {
    const next = this.next();
    return h(
      "div",
      { class: "ask-row" },
      h("button", { type: "button", onclick: () => this.#dialog.close() }, "Close"),
      h("span", { class: "spacer" }),
      next && h("button", { type: "button", class: "primary", onclick: () => this.#show(next) }, "Next ask"),
    );
  }

  /** @param {Card} card */
  #show(card) {
    this.card = card;
    this.render();
  }
}

customElements.define("handrail-ask-sheet", AskSheet);
