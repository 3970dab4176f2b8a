/**
 * What became of an ask: who, when, from where, and what it changed. The card stays readable.
 */

/** @import { Card, Closed } from "../types.js" */
/** @import { IconName } from "../icons.js" */

import { h } from "../dom.js";
import { ago, fromWhere, moment } from "../format.js";
import { icon } from "../icons.js";

/** @type {Record<string, string>} */
const OUTCOMES = {
  decided: "answered",
  resumed: "answered, and the session was resumed",
  cancelled: "withdrawn by Claude Code: no answer is needed any more",
  expired: "nobody answered in time, and Claude was told so",
  lost: "the process that asked has ended",
  unsent: "decided, but the process ended just then: whether Claude Code was told is not known",
};

/** @param {Card} card */
export function closedLine(card) {
  const closed = card.closed;
  if (!closed) return null;
  return h(
    "div",
    { class: "ask-closed", role: "status", dataset: { tone: toneOf(closed) } },
    h(
      "p",
      null,
      icon(iconOf(closed)),
      " ",
      h("strong", null, sentenceOf(closed)),
      closed.at ? h("time", { class: "quiet-text num", title: moment(closed.at) }, ` · ${ago(closed.at)}`) : null,
    ),
    (closed.changes ?? []).map((change) =>
      h("p", { class: "quiet-text" }, change.charAt(0).toUpperCase() + change.slice(1)),
    ),
    closed.late && h("p", { class: "quiet-text" }, "Your own answer came later, and was not taken."),
    reasonOf(closed) && h("p", { class: "quiet-text ask-said" }, "“", reasonOf(closed), "”"),
  );
}

/** What the person said, without the words that Claude is told in any case. @param {Closed} closed */
function reasonOf({ said }) {
  const own = (said ?? "").replace(/^The user denied this(?: and stopped the turn)?(?:\.$| and says: )/, "");
  return own.replace(/\n{2,}/g, "\n");
}

/** "Allowed by you, from the page"; "Denied by lena, from a terminal". @param {Closed} closed */
function sentenceOf({ outcome, words = "", by = "", surface = "", mine = false }) {
  const said = words || OUTCOMES[outcome] || outcome;
  const from = surface && fromWhere(surface);
  const where = from && `, ${from}`;
  // The hub's words name who and where as `by lena (web)`.
  const spelt = surface && said.includes(`by ${by} (${surface})`) ? `by ${by} (${surface})` : `by ${by}`;
  const who = `by ${mine ? "you" : by}${where}`;
  const sentence = !by ? said : said.includes(spelt) ? said.replace(spelt, () => who) : `${said} ${who}`;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** Whether the answer let it happen: the colour only repeats what the words say. @param {Closed} closed */
function toneOf({ outcome, words = "" }) {
  if (!["decided", "resumed"].includes(outcome)) return "quiet";
  return /^(denied|skipped|plan rejected|declined|dismissed|cancelled|plan sent back|plan paused|not answered)/i.test(
    words,
  )
    ? "quiet"
    : "done";
}

/** @param {Closed} closed @returns {IconName} */
function iconOf(closed) {
  if (toneOf(closed) === "done") return "check";
  if (/^plan (sent|paused)/i.test(closed.words ?? "")) return "comment";
  return ["decided", "resumed"].includes(closed.outcome) ? "cross" : "undo";
}
