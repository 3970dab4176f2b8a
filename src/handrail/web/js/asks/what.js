/**
 * What exactly would happen, whole; why; and what a person should notice about it.
 */

/** @import { Card, ChangeWhat, Child, CommandWhat, Field, What } from "../types.js" */

import { h } from "../dom.js";
import { counted, oneLine } from "../format.js";
import { setHtml } from "../html.js";
import { icon } from "../icons.js";

/** Everything about an ask but the answers. @param {Card} card @returns {Child[]} */
export function askBody(card) {
  return [
    whatShown(card.what),
    card.hidden ? hiddenCharacters(card.hidden) : null,
    flags(card),
    card.purpose && labelled("Claude says", card.purpose),
    fields(card.fields ?? []),
    paths(card),
    reasons(card),
  ];
}

/** @param {What} what @returns {Child} */
function whatShown(what) {
  switch (what.type) {
    case "command":
      return command(what);
    case "change":
      return change(what);
    case "fetch":
      return exactText("Address", what.url_html, what.url);
    case "call":
      return what.server ? labelled("MCP server", what.server) : null;
    default:
      return null; // Plans, questions and forms have panels of their own.
  }
}

/** @param {CommandWhat} what */
function command(what) {
  const shown = setHtml(
    h("div", { class: "ask-code", tabindex: "0", role: "group", "aria-label": "The whole command" }),
    what.html,
  );
  const long = (what.lines ?? 1) > 12;
  return h(
    "div",
    { class: "ask-what" },
    shown,
    long &&
      h("p", { class: "quiet-text num" }, `${counted(what.lines ?? 0, "line")}, all shown above: scroll to the end`),
  );
}

/** @param {ChangeWhat} what */
function change(what) {
  const html = what.diff_html || what.text_html || "";
  const outcome = what.outcome === "changed" ? "" : what.outcome_words;
  // Without the file at hand nothing was counted.
  const isCounted = what.outcome !== "unknown";
  return h(
    "div",
    { class: "ask-what" },
    h(
      "p",
      { class: "ask-file" },
      icon("file"),
      h("code", null, what.path),
      outcome && h("span", { class: "quiet-text" }, outcome),
      isCounted &&
        h(
          "span",
          { class: "num ask-amount" },
          h("span", { class: "added" }, `+${what.added}`),
          " ",
          h("span", { class: "removed" }, `−${what.removed}`),
        ),
    ),
    (what.notes ?? []).map((note) => h("p", { class: "ask-flag" }, icon("alert"), note)),
    html &&
      setHtml(
        h("div", {
          class: "ask-code ask-diff",
          tabindex: "0",
          role: "group",
          "aria-label": `The change of ${what.path}`,
        }),
        html,
      ),
    what.diff_html &&
      what.text_html &&
      h(
        "details",
        null,
        h("summary", null, "The whole new text"),
        setHtml(h("div", { class: "ask-code" }), what.text_html),
      ),
  );
}

/** A text that must be seen exactly. @param {string} label @param {string | undefined} html @param {string} text */
export function exactText(label, html, text) {
  const shown = h("pre", { class: "code" });
  if (html) setHtml(shown, html);
  else shown.append(text);
  return h("div", { class: "ask-code", tabindex: "0", role: "group", "aria-label": label }, shown);
}

/** @param {number} count */
function hiddenCharacters(count) {
  return h(
    "p",
    { class: "ask-flag", dataset: { level: "high" } },
    icon("alert"),
    h(
      "span",
      null,
      `${counted(count, "character")} would not be seen: ${count === 1 ? "it is" : "they are"} written out and marked.`,
    ),
  );
}

/** @param {Card} card */
function flags(card) {
  const found = card.flags ?? [];
  if (!found.length) return null;
  return h(
    "ul",
    { class: "ask-flags", "aria-label": "To notice" },
    found.map(({ words, where, level }) =>
      h(
        "li",
        { class: "ask-flag", dataset: { level } },
        icon("alert"),
        h("span", null, words, where && [" ", h("code", null, where)]),
      ),
    ),
  );
}

/** @param {Field[]} given */
function fields(given) {
  if (!given.length) return null;
  return h(
    "dl",
    { class: "ask-fields" },
    given.map(({ name, html, text }) => [
      h("dt", null, name),
      html ? setHtml(h("dd"), html) : h("dd", { class: "mono" }, text),
    ]),
  );
}

/** @param {Card} card */
function paths(card) {
  const touched = card.paths ?? [];
  // A change names its file already.
  if (
    !touched.length ||
    (card.what.type === "change" && touched.length === 1 && touched[0]?.inside_project && !touched[0].leads_to)
  )
    return null;
  return h(
    "ul",
    { class: "ask-paths", "aria-label": "Files it touches" },
    touched.map(({ path, leads_to: target, access, inside_project: inside }) =>
      h(
        "li",
        null,
        h("span", { class: "ask-access", dataset: { access } }, ACCESS[access] ?? access),
        h("code", null, path),
        target && h("span", { class: "quiet-text" }, "leads to ", h("code", null, target)),
        !inside && h("span", { class: "chip", dataset: { tone: "failed" } }, "outside the project"),
      ),
    ),
  );
}

/** @type {Record<string, string>} */
const ACCESS = { read: "reads", write: "writes", delete: "deletes" };

/** @param {Card} card */
function reasons(card) {
  const why = card.reasons ?? [];
  if (!why.length) return null;
  return h(
    "details",
    { class: "ask-why" },
    h("summary", { class: "quiet-text" }, "Why you are asked: ", why[0]),
    why.length > 1 &&
      h(
        "ul",
        null,
        why.slice(1).map((words) => h("li", { class: "quiet-text" }, words)),
      ),
  );
}

/** @param {string} label @param {string} text */
export function labelled(label, text) {
  return h("p", { class: "ask-purpose" }, h("span", { class: "quiet-text" }, label), " ", text);
}

/** An ask on one line, for lists. @param {Card} card */
export function inOneLine(card) {
  const { what } = card;
  switch (what.type) {
    case "command":
      return firstLine(what.text);
    case "change":
      return what.outcome === "unknown" ? what.path : `${what.path}  +${what.added} −${what.removed}`;
    case "fetch":
      return what.url;
    case "plan":
      return firstLine(what.text.replace(/^#+\s*/, ""));
    case "questions":
      return what.questions.map((question) => question.header || question.text).join(" · ");
    case "form":
      return what.message;
    default:
      return card.purpose || card.fields?.[0]?.text || "";
  }
}

/** Hidden characters are shown on the card itself; here they must not reach the line at all. @param {string} text */
function firstLine(text) {
  const [first = "", ...rest] = text.trim().split("\n");
  return rest.length ? `${oneLine(first)} …` : oneLine(first);
}
