/**
 * Parts of the policy page that only show: where a rule comes from, what is held back, profiles and files.
 */

import { h } from "../dom.js";
import { ago, moment } from "../format.js";
import { icon } from "../icons.js";
import { section } from "./parts.js";

/**
 * @typedef {"allow" | "ask" | "deny"} Behavior
 * @typedef {object} Suggestions
 * @property {{ rule: string, words: string, times: number, last_at?: number | null }[]} items
 * @property {{ tool: string, words: string, why: string }[]} [left]
 *
 * @typedef {{ behavior: Behavior, rule: string, source: string, scope?: string | null, granted?: boolean, path?: string | null,
 *   line?: number | null, by?: string | null, at?: number | null, removable?: boolean }} Rule
 * @typedef {object} Policy
 * @property {string} root
 * @property {string} profile
 * @property {{ name: string, description?: string, default?: boolean, points?: string[] }[]} profiles
 * @property {Rule[]} rules
 * @property {{ path: string, scope: string, found: boolean, trusted: boolean }[]} files
 * @property {{ why: string, rules: string[], settings: string[], command?: string } | null} held_back
 * @property {string} otherwise
 * @property {string[]} notes
 */

/**
 * In the order in which they win.
 * @type {{ behavior: Behavior, words: string, tone: string, icon: import("../icons.js").IconName }[]}
 */
export const BEHAVIORS = [
  { behavior: "deny", words: "Denied", tone: "failed", icon: "cross" },
  { behavior: "ask", words: "Always asked", tone: "needs-you", icon: "bell" },
  { behavior: "allow", words: "Allowed", tone: "done", icon: "check" },
];

/** Where a rule comes from. @param {Rule} rule */
export function whence({ source, path, line, granted, by, at, scope }) {
  if (granted)
    return [
      by ? `granted by ${by}` : "granted",
      at ? h("time", { title: moment(at) }, ` ${ago(at)}`) : "",
      scope === "project" ? ", in this project" : "",
    ];
  if (path) return h("span", { class: "mono" }, line ? `${path}:${line}` : path);
  return source === "profile" ? "from the profile" : source;
}

/** @param {Policy} policy */
export function otherwise({ otherwise: what }) {
  return { ask: "left to Claude Code's own settings, and then to you", deny: "denied", allow: "allowed" }[what] ?? what;
}

/** @param {Policy} policy */
export function heldBack({ held_back: held }) {
  if (!held) return null;
  return h(
    "section",
    { class: "held-back" },
    h("h2", null, icon("alert"), "A part of the policy is held back"),
    h("p", null, held.why),
    h(
      "ul",
      null,
      [...held.rules, ...held.settings].map((each) => h("li", null, h("code", null, each))),
    ),
    held.command && h("p", { class: "quiet-text" }, "If you trust it: ", h("code", null, held.command)),
  );
}

/** @param {Policy} policy */
export function profiles(policy) {
  return h(
    "ul",
    { class: "profiles" },
    policy.profiles.map(({ name, description, points = [] }) =>
      h(
        "li",
        { "aria-current": name === policy.profile ? "true" : null },
        h("h3", null, name, name === policy.profile && h("span", { class: "chip" }, icon("check"), "in use")),
        h("p", null, description),
        points.length > 0 &&
          h(
            "ul",
            { class: "quiet-text" },
            points.map((point) => h("li", null, point)),
          ),
      ),
    ),
  );
}

/** @param {Policy} policy */
export function files({ files: known }) {
  if (known.length === 0) return null;
  return section(
    "Files",
    "",
    h(
      "ul",
      { class: "policy-files" },
      known.map(({ path, scope, found, trusted }) =>
        h(
          "li",
          null,
          h("span", { class: "mono" }, path),
          h(
            "span",
            { class: "quiet-text" },
            [
              scope === "user" ? "every project" : "this project",
              found ? "" : "not there",
              found && !trusted ? "not trusted" : "",
            ]
              .filter(Boolean)
              .join(" · "),
          ),
        ),
      ),
    ),
  );
}
