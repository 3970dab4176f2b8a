/**
 * The states of a session: in the order in which they matter, each with a word and an icon.
 */

/** @import { Card, Session, SessionState, Status } from "../types.js" */
/** @import { IconName } from "../icons.js" */

import { h } from "../dom.js";
import { icon } from "../icons.js";

/** @type {readonly { status: Status, words: string, icon: IconName, tone: string }[]} */
export const STATUSES = [
  { status: "needs_you", words: "Needs you", icon: "bell", tone: "needs-you" },
  { status: "running", words: "Running", icon: "play", tone: "running" },
  { status: "queued", words: "Queued", icon: "clock", tone: "quiet" },
  { status: "waiting", words: "Waiting for its CLI", icon: "plug", tone: "quiet" },
  { status: "idle", words: "Idle", icon: "circle", tone: "quiet" },
  { status: "failed", words: "Failed", icon: "alert", tone: "failed" },
  { status: "stopped", words: "Stopped", icon: "stop", tone: "quiet" },
];

/** Of a newer hub: a session must not be missing from the list for its status. */
const UNKNOWN = /** @type {typeof STATUSES[number]} */ (STATUSES.find(({ status }) => status === "idle"));

/** @param {Status} status */
export function statusOf(status) {
  return STATUSES.find((each) => each.status === status) ?? UNKNOWN;
}

/**
 * The status of a session that is open: its events do not tell that its CLI has yet to dial in, the list does.
 * @param {SessionState} state
 * @param {Session | undefined} listed
 */
export function statusShown({ status }, listed) {
  return statusOf(listed?.status === "waiting" && status !== "needs_you" ? "waiting" : status);
}

/** @param {Status} status */
export function statusMark(status) {
  const { words, icon: name, tone } = statusOf(status);
  return h("span", { class: "status-mark", dataset: { tone } }, icon(name, { label: words }));
}

/**
 * Sessions by status, the newest first; states without sessions are left out. One that has ended with an ask open needs
 * somebody all the same: answering resumes it.
 * @param {Iterable<Session>} sessions
 * @param {Card[]} waiting what can be answered
 */
export function byStatus(sessions, waiting) {
  const all = [...sessions];
  const asking = new Set(waiting.map((card) => card.session));
  const shownAs = (/** @type {Session} */ { id, status }) => statusOf(asking.has(id) ? "needs_you" : status);
  return STATUSES.map((status) => ({
    ...status,
    sessions: all.filter((session) => shownAs(session) === status).sort((a, b) => b.updated_at - a.updated_at),
  })).filter((group) => group.sessions.length);
}

/** Whether a session is what somebody looks for. @param {Session} session @param {string} words */
export function matches(session, words) {
  const text = `${session.title} ${session.cwd} ${session.model ?? ""} ${session.host_name ?? ""}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
