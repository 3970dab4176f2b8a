/**
 * What waits for a person in this session, below the conversation until it is answered: one card in front, the others
 * behind it, with how many there are.
 */

/** @import { Card } from "../types.js" */

import { HandrailAsk } from "../asks/ask.js";
import { fill, h, HandrailElement, make } from "../dom.js";
import { askKey } from "../home.js";
import { icon } from "../icons.js";
import { sessionPath } from "../router.js";

/** Keys that answer the ask in front. */
const ACTS = /** @type {const} */ (["allow", "deny", "always", "edit"]);

export class HandrailPinnedAsks extends HandrailElement {
  session = "";

  /** The ask in front. */
  #front = "";
  #head = h("div", { class: "stack-head" });
  #place = h("div", { class: "stack-card" });
  /** @type {HandrailAsk | null} */
  #card = null;
  /** Which ask that is: as long as it stays in front it keeps what is typed there, and the focus. */
  #shownAsk = "";

  /** @override */
  mount() {
    this.watch(this.page.home.asks);
    this.hold(this.page.keys.on("next_ask", () => this.next()));
    for (const act of ACTS) this.hold(this.page.keys.on(act, () => this.#card?.act(act) ?? false));
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Waiting for you");
    fill(this, this.#head, this.#place);
  }

  /** Open asks of this session, the oldest first. */
  cards() {
    return this.page.home.waiting().filter((card) => card.session === this.session);
  }

  /** Bring an ask to the front. @param {string} askId */
  show(askId) {
    this.#front = askId;
    this.render();
    this.#card?.scrollIntoView({ block: "nearest" });
    this.#place.querySelector("button")?.focus();
  }

  /** The next ask of this session, or else of another one. */
  next() {
    const cards = this.cards();
    const here = cards.findIndex((card) => card.ask_id === this.#front);
    const next = cards[(here + 1) % Math.max(1, cards.length)];
    if (next) return this.show(next.ask_id);
    const [elsewhere] = this.page.home.waiting();
    if (elsewhere) this.page.router.go(sessionPath(elsewhere.session));
  }

  /** @override */
  render() {
    const cards = this.cards();
    const front = cards.find((card) => card.ask_id === this.#front) ?? cards[0] ?? null;
    this.hidden = front === null;
    this.#front = front?.ask_id ?? "";
    this.dataset.count = String(cards.length);
    this.#showHead(cards, front);
    this.#showCard(front);
    this.#card?.toggleAttribute("data-stacked", cards.length > 1);
  }

  /** @param {Card[]} cards @param {Card | null} front */
  #showHead(cards, front) {
    this.#head.hidden = cards.length < 2;
    if (cards.length < 2 || !front) return this.#head.replaceChildren();
    const index = cards.indexOf(front);
    const step = (/** @type {number} */ by) =>
      this.show(cards[(index + by + cards.length) % cards.length]?.ask_id ?? "");
    fill(
      this.#head,
      h("span", { class: "num stack-place" }, `${index + 1} of ${cards.length}`),
      h("span", { class: "quiet-text" }, "waiting in this session"),
      h("span", { class: "spacer" }),
      h(
        "button",
        { class: "icon-button previous", "aria-label": "Previous ask", onclick: () => step(-1) },
        icon("chevron"),
      ),
      h("button", { class: "icon-button next", "aria-label": "Next ask", onclick: () => step(1) }, icon("chevron")),
    );
  }

  /** @param {Card | null} card */
  #showCard(card) {
    if (card === null) {
      this.#card = null;
      this.#shownAsk = "";
      return this.#place.replaceChildren();
    }
    const key = askKey(card.session, card.ask_id);
    if (this.#card && this.#shownAsk === key) {
      if (this.#card.card !== card) this.#card.card = card;
      return;
    }
    this.#card = make(HandrailAsk, { card, inSession: true, pinned: true });
    this.#shownAsk = key;
    fill(this.#place, this.#card);
  }
}

customElements.define("handrail-pinned-asks", HandrailPinnedAsks);
