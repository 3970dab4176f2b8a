/**
 * Subagents and background work where they began: what they are for, how far they are, what they did, and a way to
 * stop them.
 */

/** @import { ActionRow, Task } from "../types.js" */
/** @import { ItemContext, View } from "./items.js" */

import { inWords } from "../api.js";
import { fill, h } from "../dom.js";
import { clock, counted, now, tokens } from "../format.js";
import { icon } from "../icons.js";
import { actionView, secondsOf, standingParts, stateOf } from "./actions.js";
import { groupRows } from "./grouping.js";
import { drawItems } from "./items.js";

/** @param {ItemContext} context @returns {View<ActionRow>} */
export function subagentView(context) {
  const words = h("span", { class: "line-words" });
  const standing = h("span", { class: "standing" });
  const toggle = h("button", { class: "action-line", "aria-expanded": "false" }, icon("chevron"), words, standing);
  const progress = h("div", { class: "progress quiet-text" });
  const inside = h("div", { class: "inside", hidden: true });
  const element = h("div", { class: "subagent" }, toggle, progress, inside);
  /** @type {View<ActionRow> | null} */
  let call = null;
  /** @type {ActionRow | null} */
  let row = null;

  function show() {
    if (!row) return;
    const open = context.model.opened.has(row.key);
    toggle.setAttribute("aria-expanded", String(open));
    inside.hidden = !open;
    if (!open) return inside.replaceChildren();
    const steps = inside.querySelector(":scope > .steps") ?? inside.appendChild(h("div", { class: "steps" }));
    drawItems(/** @type {HTMLElement} */ (steps), groupRows(context.model.thread.childrenOf(row.key)), context);
    call ??= ownCall(context);
    call.update(row);
    inside.append(call.element);
  }
  toggle.addEventListener("click", () => {
    if (row && !context.model.opened.delete(row.key)) context.model.opened.add(row.key);
    show();
  });
  return {
    element,
    update(given) {
      row = given;
      const task = taskOf(given, context);
      fill(
        words,
        h("span", { class: "tool" }, given.tool === "Bash" ? "Background" : "Subagent"),
        h("span", { class: "what" }, given.title),
      );
      fill(
        standing,
        ...standingParts(
          stateOf(given) === "running" || isRunning(task),
          given.ok,
          given.summary ?? "",
          secondsOf(given),
        ),
      );
      element.dataset.state = isRunning(task) ? "running" : stateOf(given);
      fill(progress, progressParts(given, task, context));
      progress.hidden = !progress.hasChildNodes();
      show();
    },
  };
}

/** The call itself, with the prompt it was given and its answer, below its steps. @param {ItemContext} context */
function ownCall(context) {
  /** @type {View<ActionRow>} */
  const view = actionView({ ...context, model: Object.create(context.model, { opened: { value: new Set() } }) });
  view.element.classList.add("own-call");
  return {
    element: view.element,
    /** @param {ActionRow} row */
    update: (row) => view.update({ ...row, tool: "Prompt and answer", title: "", summary: "" }),
  };
}

/** The task that an action began. @param {ActionRow} row @param {ItemContext} context */
function taskOf(row, context) {
  const tasks = /** @type {(Task & { row?: string | null })[]} */ (context.model.state.value?.tasks ?? []);
  return tasks.find((task) => task.row === row.key) ?? null;
}

/** @param {Task | null} task */
export function isRunning(task) {
  return task !== null && task.phase !== "completed";
}

/** @param {ActionRow} row @param {Task | null} task @param {ItemContext} context */
function progressParts(row, task, context) {
  const steps = Math.max(row.children ?? 0, context.model.thread.childrenOf(row.key).length);
  if (stateOf(row) !== "running" && !isRunning(task)) return [];
  return [
    h("span", { class: "now num" }, (task && taskProgress(task)) || (steps ? counted(steps, "step") : "")),
    task && isRunning(task) && context.may("approver") && stopButton(task, context),
  ];
}

/** How far a task is: what it says of itself, what it did, for how long. @param {Task} task */
export function taskProgress(task) {
  const progress = /** @type {unknown} */ (task.progress);
  const said = typeof progress === "string" ? [progress] : usageParts(progress);
  const time = task.started_at ? clock((task.ended_at ?? now()) - task.started_at) : "";
  return [...said, time, task.summary].filter(Boolean).join(" · ");
}

/** @param {unknown} progress @returns {string[]} */
function usageParts(progress) {
  const usage = /** @type {Record<string, unknown>} */ (Reflect.get(Object(progress), "usage") ?? {});
  const { tool_uses: uses, total_tokens: total } = usage;
  return [
    typeof uses === "number" && uses > 0 ? counted(uses, "call") : "",
    typeof total === "number" && total > 0 ? `${tokens(total)} tokens` : "",
  ];
}

/** @param {Task} task @param {ItemContext} context */
export function stopButton(task, context) {
  const button = h(
    "button",
    { class: "quiet stop-task", "aria-label": `Stop ${task.title}`, "data-action": "stop-task" },
    icon("stop"),
    "Stop",
  );
  button.addEventListener("click", async () => {
    button.disabled = true;
    fill(button, h("span", { class: "spinner" }), "Stopping…");
    try {
      await context.commands.stopTask(task.id);
    } catch (error) {
      context.say(`It was not stopped. ${inWords(error)}`);
      button.disabled = false;
      fill(button, icon("stop"), "Stop");
    }
  });
  return button;
}
