/**
 * What the panels of the kinds of ask have in common: a card to show, keys to obey, an answer to give.
 */

/** @import { Answer, Card, Role } from "../types.js" */

import { HandrailElement } from "../dom.js";

/** What a person wants to do with an ask, by key. @typedef {"allow" | "deny" | "always" | "edit"} Act */

/** @param {Card} card */
export function draftName(card) {
  return `ask.${card.digest}`;
}

export class AskPanel extends HandrailElement {
  /** @type {Card} */
  card = /** @type {any} */ (null);
  #built = "";

  /** Built once for what is asked: a panel that is moved about keeps what the person has typed. @override */
  render() {
    const shape = `${this.card.digest} ${this.page.live.me.value?.role}`;
    if (shape === this.#built) return;
    this.#built = shape;
    this.build();
  }

  /** Make what is shown, from `card`. */
  build() {}

  /** Do what a key says. Gives whether there was something to do. @param {Act} _act @returns {boolean} */
  act(_act) {
    return false;
  }

  /** Whether the person may do what `role` may. @param {Role} role */
  may(role) {
    return this.page.may(role);
  }

  /**
   * Give the answer; <handrail-ask> around it sends it.
   * @param {Answer} answer
   * @param {string} words what is being done ("Allowing…")
   */
  answer(answer, words) {
    this.dispatchEvent(new CustomEvent("answer", { detail: { answer, words }, bubbles: true }));
  }

  /** The name of the draft for this ask, bound to exactly what is asked. */
  get draftName() {
    return draftName(this.card);
  }
}
