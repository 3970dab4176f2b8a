/**
 * The entries of a conversation as elements: made once, then brought up to date in place.
 */

/** @import { Row } from "../types.js" */
/** @import { Item } from "./grouping.js" */
/** @import { SessionModel } from "./model.js" */
/** @import { Commands } from "./commands.js" */

import { reconcile } from "../dom.js";
import { actionView, runView } from "./actions.js";
import { isRemark } from "./grouping.js";
import { askView } from "./inline-asks.js";
import { endView, noticeView, promptView, textView, thoughtView } from "./said.js";
import { subagentView } from "./subagents.js";

/**
 * What entries need to know and do.
 * @typedef {object} ItemContext
 * @property {SessionModel} model
 * @property {Commands} commands
 * @property {(row: import("../types.js").PromptRow) => import("../menu.js").MenuItem[]} promptMenu  what can be done with a message
 * @property {(row: import("../types.js").AskRow) => boolean} waits  whether an ask still waits for a person
 * @property {(row: import("../types.js").AskRow) => import("../types.js").Card} cardOf  with what became of it, if known
 * @property {(askId: string) => void} showAsk     bring a pending ask to the front
 * @property {(words: string) => void} say         tell a person of trouble
 * @property {(role: import("../types.js").Role) => boolean} may
 * @property {(name: string) => boolean} isMe
 */

/**
 * @template T
 * @typedef {{ element: HTMLElement, update(given: T): void }} View
 */

/** @type {WeakMap<HTMLElement, (item: Item) => void>} */
const updates = new WeakMap();

/** @param {HTMLElement} place @param {Item[]} items @param {ItemContext} context */
export function drawItems(place, items, context) {
  reconcile(place, items, {
    key: keyOf,
    make: (item) => makeItem(item, context),
    update: (element, item) => updates.get(element)?.(item),
  });
}

/** A run of calls has another element than its first call alone. @param {Item} item */
function keyOf(item) {
  return item.type === "tools" && item.rows.length > 1 ? `run:${item.key}` : item.key;
}

/** @param {Item} item @param {ItemContext} context */
function makeItem(item, context) {
  const [element, update] =
    item.type === "tools" && item.rows.length > 1 ? ofRun(context) : ofRow(rowOf(item), context);
  element.classList.add("item");
  updates.set(element, update);
  return element;
}

/** @param {ItemContext} context @returns {[HTMLElement, (item: Item) => void]} */
function ofRun(context) {
  const view = runView(context);
  return [view.element, (item) => item.type === "tools" && view.update(item.rows, item.key)];
}

/** @param {Row} row @param {ItemContext} context @returns {[HTMLElement, (item: Item) => void]} */
function ofRow(row, context) {
  const view = /** @type {View<any>} */ (viewFor(row, context));
  view.element.dataset.type = row.type;
  view.element.dataset.row = row.key;
  /** @type {Row | null} */
  let shown = null;
  return [
    view.element,
    (item) => {
      const given = rowOf(item);
      if (given === shown && !changesAround(given)) return;
      shown = given;
      view.update(given);
    },
  ];
}

/**
 * Whether what is shown depends on more than the row: on what is inside a subagent, or on whether an ask still waits.
 * @param {Row} row
 */
function changesAround(row) {
  return row.type === "ask" || (row.type === "action" && row.group === "task");
}

/** @param {Item} item @returns {Row} */
function rowOf(item) {
  return item.type === "row" ? item.row : /** @type {Row} */ (item.rows[0]);
}

/** @param {Row} row @param {ItemContext} context */
function viewFor(row, context) {
  switch (row.type) {
    case "prompt":
      return promptView(context);
    case "text":
      return textView();
    case "thinking":
      return thoughtView(context);
    case "ask":
      return askView(context);
    case "notice":
      return noticeView();
    case "end":
      return endView();
    case "action":
      if (row.kind === "subagent" || row.group === "task") return subagentView(context);
      return isRemark(row) ? noticeView() : actionView(context);
  }
}
