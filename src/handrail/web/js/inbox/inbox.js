/**
 * The inbox: everything that waits for a person, across all sessions, the oldest first, answered in place.
 */

/** @import { Card } from "../types.js" */
/** @import { Act } from "../asks/panel.js" */
/** @import { KeyName } from "../keys.js" */

import { HandrailAsk } from "../asks/ask.js";
import { isOpen } from "../asks/head.js";
import { fill, h, HandrailElement, make, reconcile } from "../dom.js";
import { counted } from "../format.js";
import { askKey } from "../home.js";
import { icon } from "../icons.js";
import { morePages } from "../navigation.js";
import { sessionPath } from "../router.js";
import { AskSheet } from "./ask-sheet.js";
import { EmptyInbox } from "./empty.js";

const PHONE = "(width < 700px)";
const SETTLING_MS = 400;
const ACTS = /** @type {const} */ (["allow", "deny", "always", "edit"]);

export class HandrailInbox extends HandrailElement {
  #head = h("div", { class: "page-head" });
  #list = h("div", { class: "inbox-list", role: "list", "aria-label": "Asks" });
  #loading = h("p", { class: "inbox-loading quiet-text" }, h("span", { class: "spinner" }), " Looking…");
  #empty = new EmptyInbox();
  #phone = matchMedia(PHONE);
  #selected = "";
  /** When the selection last moved without being told to. */
  #selectedItself = -Infinity;
  /** Opened by hand, besides the one that is selected. @type {Set<string>} */
  #opened = new Set();
  /** What was answered here stays in its place until it is cleared away. @type {Map<string, Card>} */
  #shown = new Map();

  /** @override */
  mount() {
    const { home, keys } = this.page;
    fill(this, this.#head, this.#list, this.#loading, this.#empty);
    for (const store of [home.asks, home.answered, home.loaded, home.sessions]) this.watch(/** @type {any} */ (store));
    this.listen(this.#phone, "change", () => this.update());
    this.listen(this, "answered", (event) => this.#answered(event.detail.card));
    this.listen(this, "expand", (event) => this.#expand(event.target));
    this.listen(this.#list, "focusin", (event) => this.#focused(event.target));
    const moves = /** @type {[KeyName, () => boolean | void][]} */ ([
      ["down", () => this.#move(1)],
      ["up", () => this.#move(-1)],
      ["open", () => this.#open()],
      ...ACTS.map((act) => [act, () => this.#act(act)]),
    ]);
    for (const [name, run] of moves) this.hold(keys.on(name, run));
  }

  // ---------------------------------------------------------------- showing

  /** @override */
  render() {
    const { home } = this.page;
    this.#collect();
    const cards = this.#inOrder();
    const waiting = cards.filter(isOpen);
    this.#keepSelection(waiting);
    this.#showHead(waiting.length, cards.length - waiting.length);
    reconcile(this.#list, cards, {
      key: keyOf,
      make: () => this.#make(),
      update: (element, card) => this.#updateAsk(element, card),
    });
    this.#list.hidden = !cards.length;
    this.#loading.hidden = home.loaded.value;
    this.#empty.hidden = !home.loaded.value || waiting.length > 0;
  }

  /** What waits now, and what was answered since the inbox was opened, in one place. */
  #collect() {
    const { asks, answered } = this.page.home;
    for (const [key, card] of asks.value) this.#shown.set(key, card);
    for (const key of [...this.#shown.keys()]) {
      const closed = answered.value.get(key);
      if (closed) this.#shown.set(key, closed);
      else if (!asks.value.has(key)) this.#shown.delete(key);
    }
  }

  /**
   * The first is selected to begin with, and after an answer of ours the next. A card that somebody else answers stays
   * selected: a key that was meant for it must not reach another.
   * @param {Card[]} waiting
   */
  #keepSelection(waiting) {
    const selected = this.#shown.get(this.#selected);
    const isOver = !selected || Boolean(selected.closed?.mine && !isOpen(selected));
    if (this.#phone.matches || !selected) this.#selected = "";
    const next = waiting.find((card) => card.opened_at > (selected?.opened_at ?? 0)) ?? waiting[0];
    if (this.#phone.matches || !isOver || !next) return;
    this.#selected = keyOf(next);
    this.#selectedItself = performance.now();
  }

  /** @param {number} waiting @param {number} answered */
  #showHead(waiting, answered) {
    fill(
      this.#head,
      h("h1", null, "Inbox"),
      waiting > 0 && h("span", { class: "quiet-text num" }, `${counted(waiting, "ask")} waiting`),
      answered > 0 &&
        h(
          "button",
          { class: "quiet", type: "button", onclick: () => this.#clear() },
          icon("check"),
          `Clear ${answered} answered`,
        ),
      morePages(),
    );
  }

  #make() {
    const ask = make(HandrailAsk);
    ask.setAttribute("role", "listitem");
    return ask;
  }

  /** @param {HandrailAsk} ask @param {Card} card */
  #updateAsk(ask, card) {
    const key = keyOf(card);
    const selected = key === this.#selected;
    ask.card = card;
    ask.classList.toggle("selected", selected);
    ask.collapsed = this.#opened.has(key) ? false : this.#phone.matches || !isOpen(card) || (isLong(card) && !selected);
  }

  #clear() {
    this.#shown.clear();
    this.page.home.answered.value.clear();
    this.page.home.answered.changed();
  }

  // ---------------------------------------------------------------- moving and answering

  /** @param {EventTarget | null} target */
  #expand(target) {
    if (!(target instanceof HandrailAsk) || !target.card) return;
    if (this.#phone.matches && isOpen(target.card)) return this.#openSheet(target.card);
    const key = keyOf(target.card);
    this.#opened.add(key);
    this.#select(key);
  }

  /** @param {Card} card */
  #openSheet(card) {
    const sheet = make(AskSheet, { card, next: () => this.page.home.waiting()[0] ?? null });
    this.append(sheet);
  }

  /** @param {EventTarget | null} target */
  #focused(target) {
    const ask = target instanceof Element ? target.closest("handrail-ask") : null;
    if (ask instanceof HandrailAsk && ask.card && isOpen(ask.card) && !this.#phone.matches) this.#mark(keyOf(ask.card));
  }

  /** @param {string} key */
  #mark(key) {
    if (key === this.#selected) return;
    this.#selected = key;
    this.update();
  }

  /** @param {string} key */
  #select(key) {
    this.#selected = key;
    this.render();
    const ask = this.#ask(key);
    ask?.scrollIntoView({ block: "nearest" });
    ask?.setAttribute("tabindex", "-1");
    ask?.focus({ preventScroll: true });
  }

  /** @param {string} key @returns {HandrailAsk | null} */
  #ask(key) {
    return this.#list.querySelector(`handrail-ask[data-key="${CSS.escape(key)}"]`);
  }

  /** To the next card that waits, from wherever we are. @param {number} step */
  #move(step) {
    const cards = this.#inOrder();
    const here = cards.findIndex((card) => keyOf(card) === this.#selected);
    const ahead = step > 0 ? cards.slice(here + 1) : cards.slice(0, Math.max(here, 0)).reverse();
    const next = ahead.find(isOpen);
    if (!next) return false;
    this.#selectedItself = -Infinity; // Whoever moves looks at where they come to.
    this.#select(keyOf(next));
  }

  #inOrder() {
    return [...this.#shown.values()].sort((a, b) => a.opened_at - b.opened_at);
  }

  #open() {
    const card = this.#shown.get(this.#selected);
    if (!card) return false;
    this.page.router.go(sessionPath(card.session));
  }

  /** @param {Act} act */
  #act(act) {
    // A key pressed in this moment was meant for the card before.
    if (performance.now() - this.#selectedItself < SETTLING_MS) return true;
    return this.#ask(this.#selected)?.act(act) ?? false;
  }

  /** On to the next one. @param {Card} card */
  #answered(card) {
    const waiting = this.page.home.waiting();
    const next = waiting.find((each) => each.opened_at > card.opened_at) ?? waiting[0];
    if (next && !this.#phone.matches && keyOf(card) === this.#selected) {
      this.#selectedItself = performance.now();
      this.#select(keyOf(next));
    }
    const left = waiting.length;
    this.page.notifier.announce(left ? `Answered. ${counted(left, "ask")} left.` : "Answered. Nothing waits any more.");
  }
}

/** @param {Card} card */
function keyOf(card) {
  return askKey(card.session, card.ask_id);
}

/** Whether a card would push the others out of sight. @param {Card} card */
function isLong({ kind, what }) {
  if (["plan", "question", "elicitation"].includes(kind)) return true;
  return what.type === "change" && what.added + what.removed > 30;
}

customElements.define("handrail-inbox", HandrailInbox);
