/**
 * Machines that run sessions, in words: how each is, what to look after, and what can be chosen among them.
 */

/** @import { Host, HostState, Session, Where } from "../types.js" */
/** @import { IconName } from "../icons.js" */

import { bytes, counted, oneLine, percent } from "../format.js";

/** How addresses name the hub's own machine, whose id is empty. */
export const HUB = "hub";

const LITTLE_SPACE = 1024 ** 3;

/** @type {Record<HostState, { words: string, tone: string, icon: IconName }>} */
const STATES = {
  connected: { words: "Connected", tone: "done", icon: "check" },
  away: { words: "Away", tone: "quiet", icon: "clock" },
  draining: { words: "Draining", tone: "quiet", icon: "pause" },
  revoked: { words: "Revoked", tone: "quiet", icon: "lock" },
};

/** @param {HostState} state */
export function stateOf(state) {
  return STATES[state] ?? STATES.away;
}

// ---------------------------------------------------------------- where something runs

/** Whether what runs there can be told anything now. @param {Where | null | undefined} where */
export function isReachable(where) {
  return where?.host_state !== "away" && where?.host_state !== "revoked";
}

/** "build-box", "build-box, away"; nothing for the hub's own machine. @param {Where} where */
export function placeName({ host_name: name, host_state: state }) {
  if (!name) return "";
  return state === "away" ? `${name}, away` : state === "revoked" ? `${name}, removed` : name;
}

/**
 * Why nothing can be done there now, and that nothing is lost; nothing if it can.
 * @param {Where | null | undefined} where
 * @param {string} [meanwhile] what to do until it is back
 */
export function awayWords(where, meanwhile = "") {
  if (!where || isReachable(where)) return "";
  if (where.host_state === "revoked")
    return `${where.host_name} was removed from this hub: what was copied from there can be read, and nothing done.`;
  return [`${where.host_name} is not connected. What runs there goes on, nothing is lost.`, meanwhile]
    .filter(Boolean)
    .join(" ");
}

// ---------------------------------------------------------------- choosing among machines

/** @typedef {{ value: string, words: string, disabled?: boolean }} Choice */

/** The machines that sessions run on or ran on, to see only those of one. @param {Host[]} hosts @returns {Choice[]} */
export function machinesToSee(hosts) {
  return hosts
    .filter((host) => host.state !== "revoked" || host.sessions > 0)
    .map((host) => ({ value: valueOf(host), words: nameOf(host) }));
}

/** The machines on which a session can be started; others say why not. @param {Host[]} hosts @returns {Choice[]} */
export function machinesToStartOn(hosts) {
  return hosts
    .filter((host) => host.state !== "revoked")
    .map((host) => ({
      value: host.id,
      words: nameOf(host),
      disabled: !host.is_hub && host.state !== "connected",
    }));
}

/** @param {Host} host */
function nameOf(host) {
  if (host.is_hub) return `${host.name} (this hub)`;
  const how =
    host.state === "connected" ? host.facts.labels.map(oneLine).join(", ") : stateOf(host.state).words.toLowerCase();
  return how ? `${host.name} (${how})` : host.name;
}

/** How an address names a machine. @param {Host} host */
export function valueOf(host) {
  return host.is_hub ? HUB : host.id;
}

/** Whether a session runs on the machine that was chosen; all do if none was. @param {Session} session @param {string} chosen */
export function runsOn(session, chosen) {
  return !chosen || (session.host || HUB) === chosen;
}

/** Which hosts sessions are on, and how those are: other words when one comes or goes. @param {Iterable<Where>} sessions */
export function whereabouts(sessions) {
  const states = new Map([...sessions].map(({ host, host_state: state }) => [host ?? "", state ?? ""]));
  return JSON.stringify([...states].sort());
}

/**
 * The host that has come since a code was made for it.
 * @param {Host[]} hosts
 * @param {Set<string>} before ids of those that were there
 * @param {string} name the name it was given; empty: any
 */
export function newcomer(hosts, before, name) {
  const isNew = (/** @type {Host} */ host) => !before.has(host.id) && (!name || host.name === name);
  return hosts.find((host) => !host.is_hub && host.state !== "revoked" && isNew(host)) ?? null;
}

// ---------------------------------------------------------------- what a host says of itself

/** What somebody should look after. @param {Host} host @returns {string[]} */
export function troublesOf({ facts, state, is_hub: isHub, name, last_seen_at: seen }) {
  if (state === "revoked") return [];
  if (state === "away" && seen === null)
    return [`${name} has not been here yet: the command that was made for it is to be run there.`];
  const told = [];
  if (facts.trouble) told.push(sentence(oneLine(facts.trouble)));
  if (facts.free_bytes !== null && facts.free_bytes < LITTLE_SPACE)
    told.push(`Only ${bytes(facts.free_bytes)} are free on the disk of its journal.`);
  if (facts.clis.length === 0) told.push(`Claude Code was not found ${isHub ? "here" : "there"}.`);
  if (facts.probe?.status === "broken")
    told.push(`Claude Code does not behave as it should: ${probeWords(facts.probe)}`);
  return told;
}

/** @param {string} words */
function sentence(words) {
  return words.charAt(0).toUpperCase() + words.slice(1) + (/[.!?…]$/.test(words) ? "" : ".");
}

/** What its state means for who reads it; nothing where there is nothing to say. @param {Host} host */
export function meaningOf({ state, name, last_seen_at: seen, live }) {
  if (state === "away" && seen !== null)
    return `${name} is not connected. What runs there goes on, and is shown here when it is back.`;
  if (state === "draining")
    return live > 0
      ? `No new sessions are started there; ${counted(live, "session")} may go on.`
      : "No new sessions are started there, and none runs: it can be stopped.";
  return "";
}

/** "2 of 8 live · 14 in all". @param {Host} host */
export function sessionCounts({ live, sessions, facts, state }) {
  const most = facts.capacity === null ? "" : ` of ${facts.capacity}`;
  return state === "revoked" ? counted(sessions, "session") : `${live}${most} live · ${sessions} in all`;
}

/** What is known of a machine beside its sessions, by name. @param {Host} host @returns {[string, string][]} */
export function factsOf({ facts, state }) {
  const here = state === "connected" || state === "draining";
  /** @type {[string, string][]} */
  const all = [
    ["Load", here ? percent(facts.load) : ""],
    ["Free", facts.free_bytes === null || !here ? "" : bytes(facts.free_bytes)],
    ["Claude Code", facts.clis.map(cliWords).join(", ")],
    ["Probe", facts.probe?.status && facts.probe.status !== "broken" ? probeWords(facts.probe) : ""],
    ["Handrail", oneLine(facts.handrail)],
    ["System", oneLine(facts.system)],
  ];
  return all.filter(([, words]) => words);
}

/** @param {Host["facts"]["clis"][number]} cli */
function cliWords({ version, logged_in: loggedIn }) {
  return `${oneLine(version)}${loggedIn === false ? ", not logged in" : ""}`;
}

/** What a probe found; a host may say anything here. @param {NonNullable<Host["facts"]["probe"]>} probe */
function probeWords({ status, text, findings }) {
  const found = (Array.isArray(findings) ? findings : []).filter((each) => typeof each === "string");
  const words = [typeof text === "string" ? text : "", ...found].filter(Boolean);
  if (status === "fine") return "behaves as expected";
  return oneLine(words.join("; ")) || String(status);
}
