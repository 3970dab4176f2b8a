/**
 * What was said, and what happened to the session: prompts, texts, thoughts, notices and the ends of runs.
 */

/** @import { ActionRow, EndRow, NoticeRow, PromptRow, TextRow, ThinkingRow } from "../types.js" */
/** @import { IconName } from "../icons.js" */
/** @import { ItemContext, View } from "./items.js" */

import { fill, h } from "../dom.js";
import { counted, duration, fromWhere, moment, money, timeOfDay } from "../format.js";
import { setHtml } from "../html.js";
import { icon } from "../icons.js";
import { menuButton } from "../menu.js";

/** What has become of a message, where that is worth telling. @type {Record<string, string>} */
const FATES = {
  queued: "waits for its turn",
  dropped: "was dropped",
  lost: "was lost: the process ended first",
};

/** @param {ItemContext} context @returns {View<PromptRow>} */
export function promptView(context) {
  const body = h("div", { class: "prompt-body" });
  const pictures = h("div", { class: "pictures" });
  const foot = h("div", { class: "prompt-foot quiet-text" });
  /** @type {PromptRow | null} */
  let row = null;
  const menu = menuButton({
    label: [icon("dots")],
    name: "What can be done with this message",
    class: "icon-button prompt-menu",
    items: () => (row ? context.promptMenu(row) : []),
  });
  const element = h("article", { class: "prompt", "aria-label": "You" }, body, pictures, foot, menu);
  return {
    element,
    update(given) {
      row = given;
      setHtml(body, given.html);
      fill(pictures, (given.images ?? []).map(picture));
      pictures.hidden = !given.images?.length;
      const fate = FATES[given.state ?? ""];
      element.dataset.state = given.state ?? "";
      fill(
        foot,
        sender(given, context),
        fate && h("span", { class: "fate" }, given.reason ? `${fate} (${given.reason})` : fate),
      );
      foot.hidden = !foot.textContent;
      element.title = moment(given.at);
    },
  };
}

/** Who sent it, if it was somebody else or came another way. @param {PromptRow} row @param {ItemContext} context */
function sender({ by, surface, at }, context) {
  const who = [by && !context.isMe(by) ? by : "", surface && surface !== "web" ? fromWhere(surface) : ""]
    .filter(Boolean)
    .join(" ");
  return h("span", { class: "num" }, [who, timeOfDay(at)].filter(Boolean).join(" · "), " ");
}

/** A picture that opens in a tab of its own. @param {{ src: string, alt: string }} image */
export function picture({ src, alt }) {
  return h(
    "a",
    { href: src, target: "_blank", rel: "noopener", class: "picture" },
    h("img", { src, alt: alt || "Picture", loading: "lazy" }),
  );
}

/** @returns {View<TextRow>} */
export function textView() {
  const body = h("div");
  const cut = h("p", { class: "quiet-text", hidden: true }, "It was cut off here.");
  const element = h("article", { class: "said", "aria-label": "Claude" }, body, cut);
  return {
    element,
    update(row) {
      setHtml(body, row.html);
      cut.hidden = !row.partial;
    },
  };
}

/** @param {ItemContext} context @returns {View<ThinkingRow>} */
export function thoughtView(context) {
  const body = h("div", { class: "thought-body" });
  const words = h("span");
  const element = h("details", { class: "thought" }, h("summary", null, icon("chevron"), words), body);
  /** @type {ThinkingRow | null} */
  let row = null;
  element.addEventListener("toggle", () => {
    if (!row) return;
    if (element.open) context.model.opened.add(row.key);
    else context.model.opened.delete(row.key);
    show(row);
  });
  /** Only what is open costs anything. @param {ThinkingRow} given */
  function show(given) {
    if (element.open) setHtml(body, given.html);
    else body.replaceChildren();
  }
  return {
    element,
    update(given) {
      row = given;
      words.textContent = given.redacted ? "Thought (not shown)" : given.partial ? "Thought, cut off" : "Thought";
      element.classList.toggle("nothing-inside", Boolean(given.redacted));
      element.open = context.model.opened.has(given.key);
      show(given);
    },
  };
}

/** Icons by what a notice is about, so that it is found while scrolling. @type {Record<string, IconName>} */
const NOTICE_ICONS = {
  compacting: "archive",
  compacted: "archive",
  mode: "shield",
  mode_changed: "shield",
  model: "gear",
  model_changed: "gear",
  rekeyed: "link",
  session_rekeyed: "link",
  retry: "clock",
  api_retry: "clock",
  rate_limit: "clock",
  exited: "stop",
  process_exited: "stop",
  warning: "alert",
};

/** Notices, and remarks that came as actions. @returns {View<NoticeRow | ActionRow>} */
export function noticeView() {
  const element = h("div", { class: "notice", role: "note" });
  return {
    element,
    update(row) {
      // A call that was denied did not fail: somebody, or a rule, wanted it so.
      const denied = row.type === "action" && row.title.startsWith("Denied: ");
      const failed = !denied && (row.ok === false || row.kind === "warning");
      element.dataset.kind = row.kind;
      element.dataset.tone = failed ? "failed" : "";
      const words = row.type === "notice" ? row.text : [row.title, row.summary].filter(Boolean).join(": ");
      fill(
        element,
        icon(failed ? "alert" : denied ? "cross" : (NOTICE_ICONS[row.kind] ?? "circle")),
        h("span", null, words),
        h("time", { class: "num", title: moment(row.at) }, timeOfDay(row.at)),
      );
    },
  };
}

/** @returns {View<EndRow>} */
export function endView() {
  const element = h("div", { class: "run-end" });
  return {
    element,
    update(row) {
      const failed = !row.ok && !wasInterrupted(row);
      element.dataset.tone = failed ? "failed" : "";
      fill(
        element,
        failed &&
          h("span", { class: "end-error" }, icon("alert"), h("span", null, row.error || "The run did not end well.")),
        h("span", { class: "end-facts num", title: moment(row.at) }, endWords(row)),
      );
    },
  };
}

/** Stopped by a person, which is no failure. @param {EndRow & { interrupted?: boolean }} row */
function wasInterrupted(row) {
  return row.interrupted ?? false;
}

/** @param {EndRow} row */
function endWords(row) {
  const facts = [
    wasInterrupted(row) ? "Interrupted" : "",
    row.duration_ms ? duration(row.duration_ms / 1000) : "",
    row.turns ? counted(row.turns, "turn") : "",
    row.cost_usd ? money(row.cost_usd) : "",
  ].filter(Boolean);
  return [row.ok ? icon("check", { label: "Done" }) : wasInterrupted(row) && icon("stop"), facts.join(" · ") || (row.ok ? "Done" : "")];
}
