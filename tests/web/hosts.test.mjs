/** Machines in words: how they are, what to look after, and what can be chosen among them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { WEB } from "./support.mjs";

const words = await import(new URL("hosts/words.js", WEB).href);

const FACTS = {
  handrail: "1.0",
  system: "Linux 6.1, x86_64",
  clis: [{ version: "2.1.325", logged_in: true }],
  roots: ["/srv"],
  labels: [],
  capacity: null,
  live: 0,
  load: 0.254,
  free_bytes: 76e9,
  draining: false,
  trouble: "",
  profiles: [],
  probe: {},
};

function host({ facts = {}, ...more } = {}) {
  return {
    id: "h1",
    name: "build-box",
    state: "connected",
    since: 10,
    last_seen_at: 20,
    sessions: 3,
    live: 1,
    is_hub: false,
    facts: { ...FACTS, ...facts },
    ...more,
  };
}

const HUB = host({ id: "", name: "laptop", is_hub: true, last_seen_at: null });
const AWAY = { host: "h1", host_name: "build-box", host_state: "away" };
const REMOVED = { ...AWAY, host_state: "revoked" };

test("only a host that is away or removed is out of reach", () => {
  for (const state of ["connected", "draining", "", undefined])
    assert.ok(words.isReachable({ host: "h1", host_name: "build-box", host_state: state }), state);
  assert.ok(words.isReachable(null));
  assert.ok(words.isReachable({}));
  assert.ok(!words.isReachable(AWAY));
  assert.ok(!words.isReachable(REMOVED));
});

test("a place is named with what keeps it out of reach", () => {
  assert.equal(words.placeName({}), "");
  assert.equal(words.placeName({ ...AWAY, host_state: "draining" }), "build-box");
  assert.equal(words.placeName(AWAY), "build-box, away");
  assert.equal(words.placeName(REMOVED), "build-box, removed");
});

test("who cannot be reached is said, with what to do meanwhile", () => {
  assert.equal(words.awayWords({ ...AWAY, host_state: "connected" }, "Wait."), "");
  assert.equal(words.awayWords(null), "");
  assert.match(words.awayWords(AWAY, "Wait."), /^build-box is not connected\. .*nothing is lost\. Wait\.$/);
  assert.match(words.awayWords(REMOVED, "Wait."), /was removed from this hub.*can be read/);
});

test("a session is started on a machine that takes sessions; others are shown with why not", () => {
  const hosts = [
    HUB,
    host({ facts: { labels: ["gpu", "linux\u202e"] } }),
    host({ id: "h2", name: "mac", state: "away" }),
    host({ id: "h3", name: "old", state: "draining" }),
    host({ id: "h4", name: "gone", state: "revoked" }),
  ];
  assert.deepEqual(words.machinesToStartOn(hosts), [
    { value: "", words: "laptop (this hub)", disabled: false },
    { value: "h1", words: "build-box (gpu, linux\ufffd)", disabled: false },
    { value: "h2", words: "mac (away)", disabled: true },
    { value: "h3", words: "old (draining)", disabled: true },
  ]);
});

test("sessions are seen by machine, also those of a removed one that left some", () => {
  const left = host({ id: "h4", name: "gone", state: "revoked" });
  const empty = host({ id: "h5", name: "never", state: "revoked", sessions: 0 });
  const choices = words.machinesToSee([HUB, host(), left, empty]);
  assert.deepEqual(
    choices.map(({ value }) => value),
    ["hub", "h1", "h4"],
  );
  const here = { id: "a", host: "" };
  const there = { id: "b", host: "h1" };
  assert.deepEqual([here, there].map((each) => words.runsOn(each, "")), [true, true]);
  assert.deepEqual([here, there].map((each) => words.runsOn(each, "hub")), [true, false]);
  assert.deepEqual([here, there].map((each) => words.runsOn(each, "h1")), [false, true]);
});

test("the whereabouts change when a host comes or goes, and with nothing else", () => {
  const before = [{ host: "", title: "a" }, { ...AWAY, title: "b" }];
  const renamed = [{ ...AWAY, title: "c" }, { host: "", title: "a" }, { host: "", title: "d" }];
  assert.equal(words.whereabouts(before), words.whereabouts(renamed));
  assert.notEqual(words.whereabouts(before), words.whereabouts([{ ...AWAY, host_state: "connected" }, { host: "" }]));
});

test("who came with a code is new, has its name, and is not the hub", () => {
  const before = new Set(["", "h1"]);
  const fresh = host({ id: "h2", name: "gpu" });
  assert.equal(words.newcomer([HUB, host()], before, ""), null);
  assert.equal(words.newcomer([HUB, host(), fresh], before, ""), fresh);
  assert.equal(words.newcomer([HUB, host(), fresh], before, "gpu"), fresh);
  assert.equal(words.newcomer([HUB, host(), fresh], before, "mac"), null);
  assert.equal(words.newcomer([{ ...fresh, state: "revoked" }], before, ""), null);
});

test("what needs looking after is said, and nothing else", () => {
  assert.deepEqual(words.troublesOf(host()), []);
  assert.deepEqual(words.troublesOf(host({ facts: { trouble: "the disk is full" } })), ["The disk is full."]);
  const [space] = words.troublesOf(host({ facts: { free_bytes: 120e6 } }));
  assert.match(space, /Only 120 MB are free/);
  assert.match(words.troublesOf(host({ facts: { clis: [] } }))[0], /not found there/);
  assert.match(words.troublesOf({ ...HUB, facts: { ...FACTS, clis: [] } })[0], /not found here/);
  const broken = { status: "broken", text: "asks are not answered", findings: ["one", 2, null] };
  assert.match(words.troublesOf(host({ facts: { probe: broken } }))[0], /as it should: asks are not answered; one$/);
  assert.match(words.troublesOf(host({ state: "away", last_seen_at: null }))[0], /has not been here yet/);
  assert.deepEqual(words.troublesOf(host({ state: "revoked", facts: { trouble: "x" } })), []);
});

test("what a state means is said where it is not plain", () => {
  assert.equal(words.meaningOf(host()), "");
  assert.match(words.meaningOf(host({ state: "away" })), /goes on, and is shown here when it is back/);
  assert.match(words.meaningOf(host({ state: "draining", live: 1 })), /1 session may go on/);
  assert.match(words.meaningOf(host({ state: "draining", live: 0 })), /it can be stopped/);
});

test("facts are told as far as they are known, in one line each", () => {
  const told = Object.fromEntries(words.factsOf(host({ facts: { system: "Linux\n\u202e6.1" } })));
  assert.deepEqual(told, {
    Load: "25 %",
    Free: "76 GB",
    "Claude Code": "2.1.325",
    Handrail: "1.0",
    System: "Linux \ufffd6.1",
  });
  const clis = [{ version: "2.1.120" }, { version: "2.1.325", logged_in: false }];
  const away = Object.fromEntries(words.factsOf(host({ state: "away", facts: { clis, probe: { status: "fine" } } })));
  assert.equal(away.Load, undefined);
  assert.equal(away["Claude Code"], "2.1.120, 2.1.325, not logged in");
  assert.equal(away.Probe, "behaves as expected");
  const changed = Object.fromEntries(words.factsOf(host({ facts: { probe: { status: "changed", text: { odd: 1 } } } })));
  assert.equal(changed.Probe, "changed");
});

test("sessions are counted", () => {
  assert.equal(words.sessionCounts(host()), "1 live · 3 in all");
  assert.equal(words.sessionCounts(host({ facts: { capacity: 8 } })), "1 of 8 live · 3 in all");
  assert.equal(words.sessionCounts(host({ state: "revoked" })), "3 sessions");
});

test("a state of a newer hub is shown as one of ours", () => {
  assert.equal(words.stateOf("asleep"), words.stateOf("away"));
});
