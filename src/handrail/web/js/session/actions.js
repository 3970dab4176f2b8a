/**
 * What Claude did: single calls, and runs of them that are one line until they are opened.
 */

/** @import { ActionRow, ThinkingRow } from "../types.js" */
/** @import { ItemContext, View } from "./items.js" */
/** @import { RowDetails } from "./model.js" */

import { inWords } from "../api.js";
import { fill, h } from "../dom.js";
import { duration, now, oneLine } from "../format.js";
import { setHtml } from "../html.js";
import { icon } from "../icons.js";
import { standingOfRun, wordsForRun } from "./grouping.js";
import { drawItems } from "./items.js";
import { picture } from "./said.js";

/**
 * Several calls as one line that opens to all of them.
 * @param {ItemContext} context
 * @returns {{ element: HTMLElement, update(rows: (ActionRow|ThinkingRow)[], key: string): void }}
 */
export function runView(context) {
  const words = h("span", { class: "line-words" });
  const standing = h("span", { class: "standing" });
  const toggle = h("button", { class: "action-line", "aria-expanded": "false" }, icon("chevron"), words, standing);
  const inside = h("div", { class: "inside", hidden: true });
  const element = h("div", { class: "run", "data-type": "tools" }, toggle, inside);
  /** @type {(ActionRow|ThinkingRow)[]} */
  let rows = [];
  let name = "";

  function show() {
    const open = context.model.opened.has(name);
    toggle.setAttribute("aria-expanded", String(open));
    inside.hidden = !open;
    if (open)
      drawItems(
        inside,
        rows.map((row) => ({ key: row.key, type: /** @type {const} */ ("row"), row })),
        context,
      );
    else inside.replaceChildren();
  }
  toggle.addEventListener("click", () => {
    flip(context.model.opened, name);
    show();
  });
  return {
    element,
    update(given, key) {
      const same = given.length === rows.length && given.every((row, index) => row === rows[index]);
      rows = given;
      name = `run:${key}`;
      const { running, failed, seconds } = standingOfRun(rows);
      if (!same) {
        fill(words, wordsForRun(rows), running && h("span", { class: "now mono" }, running.title));
        fill(
          standing,
          ...standingParts(
            running !== null,
            failed > 0 ? false : true,
            failed > 1 ? `${failed} failed` : failed ? "1 failed" : "",
            seconds,
          ),
        );
        element.dataset.state = running ? "running" : failed ? "failed" : "done";
      }
      show();
    },
  };
}

/**
 * One call as a line that opens to what went in and what came out.
 * @param {ItemContext} context
 * @returns {View<ActionRow>}
 */
export function actionView(context) {
  const words = h("span", { class: "line-words" });
  const standing = h("span", { class: "standing" });
  const toggle = h("button", { class: "action-line", "aria-expanded": "false" }, icon("chevron"), words, standing);
  const inside = h("div", { class: "inside details", hidden: true });
  const element = h("div", { class: "action" }, toggle, inside);
  /** @type {ActionRow | null} */
  let row = null;
  /** What is shown of it: a call that goes on is fetched again when it is over. */
  let fetched = "";

  async function show() {
    if (!row) return;
    const open = context.model.opened.has(row.key);
    toggle.setAttribute("aria-expanded", String(open));
    inside.hidden = !open;
    if (!open) return void (inside.replaceChildren(), (fetched = ""));
    if (fetched === row.phase) return;
    fetched = row.phase;
    await showDetails(inside, () =>
      context.model.details(/** @type {ActionRow} */ (row).key, row?.phase === "completed"),
    );
  }
  toggle.addEventListener("click", () => {
    if (row) flip(context.model.opened, row.key);
    void show();
  });
  return {
    element,
    update(given) {
      row = given;
      toggle.dataset.group = given.group;
      fill(words, toolWords(given, context.model.state.value?.cwd));
      fill(
        standing,
        ...standingParts(given.phase !== "completed", given.ok, given.summary ?? "", secondsOf(given), given.group),
      );
      element.dataset.state = stateOf(given);
      element.dataset.tool = given.tool;
      void show();
    },
  };
}

/**
 * The tool's name, and what it was called with; paths of the project without where that is.
 * @param {ActionRow} row
 * @param {string} [cwd]
 */
export function toolWords(row, cwd = "") {
  const named =
    row.title === row.tool
      ? ""
      : row.title.startsWith(`${row.tool} `)
        ? row.title.slice(row.tool.length + 1)
        : row.title;
  const title = oneLine(cwd.length > 1 ? named.replaceAll(`${cwd}/`, "") : named);
  return [h("span", { class: "tool" }, row.tool || row.title), title && h("span", { class: "mono what" }, title)];
}

/** @param {ActionRow} row */
export function stateOf(row) {
  if (row.phase !== "completed") return "running";
  return row.ok === false ? "failed" : "done";
}

/** @param {ActionRow} row */
export function secondsOf(row) {
  return row.phase === "completed" && row.ended_at ? row.ended_at - row.at : null;
}

/**
 * How something stands, at the right end of its line: never by colour alone.
 * @param {boolean} running
 * @param {boolean | null | undefined} ok
 * @param {string} summary
 * @param {number | null} seconds
 * @param {string} [group]
 */
export function standingParts(running, ok, summary, seconds, group = "") {
  const mark = running
    ? h("span", { class: "spinner", role: "img", "aria-label": "Running" })
    : ok === false
      ? icon("cross", { label: "Failed" })
      : icon("check", { label: "Done" });
  return [
    summary && (group === "edit" ? changeCounts(summary) : h("span", { class: "summary" }, summary)),
    mark,
    h("span", { class: "num took" }, !running && seconds !== null && seconds >= 0.1 ? duration(seconds) : ""),
  ];
}

/** "+6 −2" in the colours of a diff; the signs say the same. @param {string} summary */
function changeCounts(summary) {
  const parts = summary.split(/\s+/).map((part) => {
    const kind = part.startsWith("+") ? "plus" : /^[-−]/.test(part) ? "minus" : "";
    return [h("span", { class: kind }, part), " "];
  });
  return h("span", { class: "summary num" }, parts);
}

/** @param {HTMLElement} place @param {() => Promise<RowDetails>} get */
async function showDetails(place, get) {
  const began = now();
  if (!place.hasChildNodes())
    fill(place, h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Loading what it did…"));
  try {
    const details = await get();
    fill(place, detailParts(details));
  } catch (error) {
    fill(place, h("p", { class: "problem" }, `What it did could not be loaded. ${inWords(error)}`));
  }
  place.dataset.took = String(Math.round((now() - began) * 1000));
}

/** @param {RowDetails} details */
function detailParts({ sections = [], images = [], text = "" }) {
  if (sections.length === 0 && images.length === 0)
    return h("p", { class: "quiet-text" }, "There is nothing more to see of it.");
  return [
    sections.map(({ title, html, kind }) =>
      h(
        "section",
        { class: "detail", "data-kind": kind ?? "" },
        h("p", { class: "detail-title" }, title),
        setHtml(h("div", { class: "detail-body", tabindex: "0" }), html),
      ),
    ),
    images.length > 0 && h("div", { class: "pictures" }, images.map(picture)),
    text && copyButton(text),
  ];
}

/** @param {string} text */
export function copyButton(text) {
  const button = h("button", { class: "quiet copy" }, icon("copy"), "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    fill(button, icon("check"), "Copied");
    setTimeout(() => fill(button, icon("copy"), "Copy"), 1500);
  });
  return button;
}

/** @param {Set<string>} set @param {string} key */
function flip(set, key) {
  if (!set.delete(key)) set.add(key);
}
