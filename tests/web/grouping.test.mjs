/** Runs of tool calls as one line: what joins, what stands for itself, and what is said of a run. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { action, row } from "./rows.mjs";
import { WEB } from "./support.mjs";

const { groupRows, standingOfRun, wordsForRun } = await import(new URL("session/grouping.js", WEB).href);

/** Items in short: `[keys]` is a run, `key` a row of its own. */
const shape = (rows) => groupRows(rows).map((item) => (item.type === "tools" ? item.rows.map((each) => each.key) : item.key));

test("calls one after the other join, whatever they are", () => {
  const rows = [action(1, "read"), action(2, "command"), action(3, "search"), action(4, "web"), action(5, "other")];
  assert.deepEqual(shape(rows), [["1", "2", "3", "4", "5"]]);
});

test("what a reader looks for stands for itself", () => {
  const alone = [
    row(2, "text"),
    row(2, "prompt"),
    row(2, "ask"),
    row(2, "notice"),
    row(2, "end"),
    action(2, "edit"),
    action(2, "task"),
    action(2, "other", { kind: "subagent" }),
    action(2, "other", { kind: "warning" }),
    action(2, "other", { kind: "note", tool: "" }),
  ];
  for (const each of alone) assert.deepEqual(shape([action(1), each, action(3)]), [["1"], "2", ["3"]]);
});

test("a thought between two calls is part of the run, and one before it is not", () => {
  const rows = [row(1, "thinking"), action(2), row(3, "thinking"), action(4), row(5, "text"), row(6, "thinking")];
  assert.deepEqual(shape(rows), ["1", ["2", "3", "4"], "5", "6"]);
});

test("what says nothing to a reader is left out, and tears nothing apart", () => {
  const hidden = [action(2, "other", { kind: "telemetry" }), action(3, "other", { tool: "AskUserQuestion" })];
  assert.deepEqual(shape([action(1), ...hidden, action(4)]), [["1", "4"]]);
});

test("a run has the key of its first call, however it grows", () => {
  const rows = [action(1), action(2), action(3)];
  assert.deepEqual([1, 2, 3].map((many) => groupRows(rows.slice(0, many))[0].key), ["1", "1", "1"]);
});

test("a run in words", () => {
  const rows = [action(1), action(2, "command"), action(3), row(4, "thinking"), action(5, "mystery")];
  assert.equal(wordsForRun(rows), "2 reads, 1 command, 1 tool call");
});

test("how a run stands", () => {
  const done = (seq, ended_at, ok = true) => action(seq, "read", { at: seq, phase: "completed", ended_at, ok });
  assert.deepEqual(standingOfRun([done(10, 12), done(11, 17, false)]), { running: null, failed: 1, seconds: 7 });
  const running = action(12, "command", { phase: "started", ok: null });
  assert.equal(standingOfRun([done(10, 12), running]).running, running);
  assert.equal(standingOfRun([running]).seconds, null);
});
