/**
 * What a reader sees of a stretch of rows: runs of tool calls become one line.
 *
 * Reads, searches, commands and the like join; a change of a file, a subagent, an ask and whatever was said stand for
 * themselves, because those are what a reader looks for. Thoughts between two calls are part of the run.
 *
 * @import {ActionRow, Row, ThinkingRow} from "../types.js"
 *
 * @typedef {{key: string, type: "tools", rows: (ActionRow|ThinkingRow)[]}} ToolsItem
 * @typedef {{key: string, type: "row", row: Row}} RowItem
 * @typedef {ToolsItem | RowItem} Item
 */

import { counted } from "../format.js";

/** @type {[string, string]} */
const OTHER = ["tool call", "tool calls"];

/** Words for one and for several of a group. @type {Record<string, [string, string]>} */
const NOUNS = {
  read: ["read", "reads"],
  search: ["search", "searches"],
  edit: ["edit", "edits"],
  command: ["command", "commands"],
  web: ["web request", "web requests"],
  task: ["task", "tasks"],
};

const STANDS_ALONE = new Set(["edit", "task"]);
/** Calls that are asks: what was asked, and what became of it, has a row of its own. */
const ASKING = new Set(["AskUserQuestion", "ExitPlanMode", "EnterPlanMode"]);

/**
 * @param {Row} row
 * @returns {row is ActionRow}
 */
export function isJoinable(row) {
  return row.type === "action" && !STANDS_ALONE.has(row.group) && !isRemark(row) && row.kind !== "subagent";
}

/** Something the CLI remarks, not a call. @param {ActionRow} row */
export function isRemark(row) {
  return row.kind === "warning" || (row.kind === "note" && !row.tool);
}

/** Rows that say nothing to a reader. @param {Row} row */
export function isHidden(row) {
  return row.type === "action" && (row.kind === "telemetry" || ASKING.has(row.tool));
}

/**
 * @param {readonly Row[]} rows  in order
 * @returns {Item[]}
 */
export function groupRows(rows) {
  /** @type {Item[]} */
  const items = [];
  /** @type {ToolsItem|null} */
  let open = null;
  for (const row of rows) {
    if (isHidden(row)) continue;
    if (isJoinable(row)) {
      if (open === null) {
        open = { key: row.key, type: "tools", rows: [] };
        items.push(open);
      }
      open.rows.push(row);
    } else if (row.type === "thinking" && open !== null) {
      open.rows.push(row);
    } else {
      open = null;
      items.push({ key: row.key, type: "row", row });
    }
  }
  return items;
}

/**
 * What a run of calls did, in words: "4 reads, 1 command".
 * @param {readonly (ActionRow|ThinkingRow)[]} rows
 */
export function wordsForRun(rows) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const row of rows) {
    if (row.type !== "action") continue;
    const group = row.group in NOUNS ? row.group : "other";
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return [...counts].map(([group, count]) => counted(count, ...(NOUNS[group] ?? OTHER))).join(", ");
}

/**
 * How a run of calls stands: whether one goes on, how many failed, how long it all took.
 * @param {readonly (ActionRow|ThinkingRow)[]} rows
 * @returns {{running: ActionRow|null, failed: number, seconds: number|null}}
 */
export function standingOfRun(rows) {
  /** @type {ActionRow|null} */
  let running = null;
  let failed = 0;
  let began = Infinity;
  let ended = 0;
  for (const row of rows) {
    if (row.type !== "action") continue;
    began = Math.min(began, row.at);
    if (row.phase !== "completed") running = row;
    else ended = Math.max(ended, row.ended_at ?? row.at);
    if (row.ok === false) failed += 1;
  }
  return { running, failed, seconds: ended > began ? ended - began : null };
}
