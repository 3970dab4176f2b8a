/** The states of a session, and how a list is grouped by them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { makePage, WEB } from "./support.mjs";

makePage();
const { byStatus, matches, statusOf, statusShown } = await import(new URL("session-list/status.js", WEB).href);

const session = (id, status, updated_at = 0) => ({ id, status, updated_at });

test("sessions are grouped by what matters most, the newest first", () => {
  const groups = byStatus(
    [session("a", "idle", 1), session("b", "waiting"), session("c", "idle", 2), session("d", "failed"), session("e", "running")],
    [{ session: "d" }],
  );
  assert.deepEqual(
    groups.map(({ status, sessions }) => [status, ...sessions.map(({ id }) => id)]),
    [["needs_you", "d"], ["running", "e"], ["waiting", "b"], ["idle", "c", "a"]],
  );
});

test("a status of a newer hub hides no session", () => {
  assert.deepEqual(byStatus([session("a", "dreaming")], []).map(({ status }) => status), ["idle"]);
});

test("that a CLI has yet to dial in is known from the list, and an ask comes before it", () => {
  const shown = (status, listed) => statusShown({ status }, listed).status;
  assert.equal(shown("idle", session("a", "waiting")), "waiting");
  assert.equal(shown("running", session("a", "waiting")), "waiting");
  assert.equal(shown("needs_you", session("a", "waiting")), "needs_you");
  assert.equal(shown("running", session("a", "idle")), "running");
  assert.equal(shown("idle", undefined), "idle");
  assert.equal(statusOf("waiting").words, "Waiting for its CLI");
});

test("a session is found by the machine it runs on", () => {
  const there = { title: "Sign the release", cwd: "/srv/shop", model: null, host_name: "build-box" };
  assert.ok(matches(there, "build sign"));
  assert.ok(!matches(there, "laptop"));
});
