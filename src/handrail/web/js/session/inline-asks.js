/**
 * Asks where they happened. While one is open, its card is pinned below the conversation, so here is one line that leads
 * to it; once it is closed, here is what became of it.
 */

/** @import { AskRow, Card } from "../types.js" */
/** @import { ItemContext, View } from "./items.js" */

import { HandrailAsk } from "../asks/ask.js";
import { fill, h, make } from "../dom.js";
import { icon } from "../icons.js";

/** @param {ItemContext} context @returns {View<AskRow>} */
export function askView(context) {
  const element = h("div", { class: "ask-place" });
  /** @type {HandrailAsk | null} */
  let closed = null;
  return {
    element,
    update(row) {
      const waits = context.waits(row);
      element.dataset.ask = row.ask_id;
      element.dataset.state = waits ? "pending" : "closed";
      if (closed && !waits) return void (closed.card = context.cardOf(row));
      closed = waits || !row.card ? null : over(context.cardOf(row));
      fill(
        element,
        closed ??
          (waits ? waiting(row, context) : h("p", { class: "quiet-text" }, "An ask of which nothing was kept.")),
      );
    },
  };
}

/** One line, which opens to all of it. @param {Card} card */
function over(card) {
  const ask = make(HandrailAsk, { card, inSession: true, collapsed: true });
  ask.addEventListener("expand", () => (ask.collapsed = false));
  return ask;
}

/** @param {AskRow} row @param {ItemContext} context */
function waiting(row, context) {
  return h(
    "button",
    { class: "ask-waiting", onclick: () => context.showAsk(row.ask_id) },
    icon("bell"),
    h("span", { class: "label" }, "Needs you"),
    h("span", { class: "what" }, row.card?.title),
    h("span", { class: "quiet-text" }, "answer below"),
    icon("arrow_down"),
  );
}
