/**
 * The head of an ask: who asks, in what session, and for how long.
 */

/** @import { AskKind, Card } from "../types.js" */
/** @import { IconName } from "../icons.js" */

import { h } from "../dom.js";
import { moment, waited } from "../format.js";
import { icon } from "../icons.js";
import { sessionPath } from "../router.js";

/** @type {Record<AskKind, IconName>} */
const ICONS = {
  permission: "lock",
  plan: "plan",
  enter_plan: "plan",
  question: "question",
  elicitation: "plug",
  dialog: "comment",
  budget: "wallet",
};

/** @param {Card} card */
export function kindIcon(card) {
  return icon(ICONS[card.kind] ?? "lock");
}

/** Whether somebody can still answer. @param {Card} card */
export function isOpen(card) {
  return card.answerable ?? (!card.closed && ["pending", "lost", "unsent"].includes(card.state));
}

/**
 * @param {Card} card
 * @param {{ inSession: boolean, titleId: string, place?: string }} how `place` says "1 of 3" in a stack
 */
export function askHead(card, { inSession, titleId, place }) {
  const tool = card.tool && card.kind === "permission" ? card.tool : "";
  return h(
    "header",
    { class: "ask-head" },
    h(
      "div",
      { class: "ask-line" },
      // In the inbox everything does.
      inSession &&
        isOpen(card) &&
        h("span", { class: "chip", dataset: { tone: "needs-you" } }, icon("bell"), "Needs you"),
      h("h2", { id: titleId, class: "ask-title" }, kindIcon(card), " ", card.title),
      tool && h("code", { class: "ask-tool" }, tool),
      place && h("span", { class: "quiet-text num" }, place),
      h("span", { class: "spacer" }),
      waitedTime(card),
    ),
    h(
      "div",
      { class: "ask-line quiet-text" },
      [...origin(card, inSession)].flatMap((part, index) => (index ? [" · ", part] : [part])),
    ),
  );
}

/** @param {Card} card */
function waitedTime(card) {
  if (!isOpen(card)) return null;
  return h(
    "time",
    { class: "ask-waited num quiet-text", title: `asked ${moment(card.opened_at)}` },
    icon("clock"),
    " ",
    h("span", null, waited(card.opened_at)),
  );
}

/** Bring the time in `element` up to date. @param {Element} element @param {Card} card */
export function tick(element, card) {
  const shown = element.querySelector(".ask-waited > span");
  const words = waited(card.opened_at);
  if (shown && shown.textContent !== words) shown.textContent = words;
}

/** @param {Card} card @param {boolean} inSession */
function* origin(card, inSession) {
  if (!inSession)
    yield h("a", { href: sessionPath(card.session), class: "ask-session" }, card.session_title || "Session");
  if (card.host_name) yield h("span", { class: "ask-host" }, "on ", h("strong", null, card.host_name));
  if (card.agent) yield h("span", null, "asked by the subagent ", h("strong", null, card.agent));
  if (card.cwd) yield h("span", null, "in ", h("span", { class: "mono" }, card.cwd));
}
