/**
 * What is known of a session beside its conversation: context, cost, where it runs, its tasks and its MCP servers.
 */

/** @import { SessionState } from "../types.js" */
/** @import { ItemContext } from "./items.js" */

import { fill, h, HandrailElement, make, reconcile } from "../dom.js";
import { clock, duration, money, now, percent, tokens } from "../format.js";
import { isReachable } from "../hosts/words.js";
import { icon } from "../icons.js";
import { onHost } from "../router.js";
import { HandrailContextUse, meter } from "./context-use.js";
import { HandrailMcpList } from "./mcp-list.js";
import { isRunning, stopButton, taskProgress } from "./subagents.js";

export class HandrailDetails extends HandrailElement {
  /** @type {ItemContext} */ context = /** @type {any} */ (null);
  /** Called when a person folds it away. */
  fold = () => {};

  #facts = h("dl", { class: "facts" });
  #tasks = h("section", { class: "tasks", "aria-label": "Tasks" });
  #limits = h("section", { class: "limits", "aria-label": "Rate limits" });
  #clock = h("span", { class: "num" });

  /** @override */
  mount() {
    const { model } = this.context;
    fill(
      this,
      h(
        "header",
        null,
        h("h2", null, "Details"),
        h(
          "button",
          {
            class: "icon-button",
            "aria-label": "Fold the details away",
            "data-action": "fold-details",
            onclick: () => this.fold(),
          },
          icon("cross"),
        ),
      ),
      make(HandrailContextUse, { context: this.context }),
      this.#facts,
      this.#limits,
      this.#tasks,
      make(HandrailMcpList, { context: this.context }),
    );
    this.watch(model.state);
    this.every(1, () => this.#tick());
  }

  /** @override */
  render() {
    const state = this.context.model.state.value;
    if (!state) return;
    this.#showFacts(state);
    this.#showLimits(state);
    this.#showTasks(state);
    this.#tick();
  }

  /** @param {SessionState} state */
  #showFacts(state) {
    /** @type {[string, import("../types.js").Child][]} */
    const facts = [
      ["Cost", h("span", { class: "num" }, money(state.cost_usd))],
      ["Runs", h("span", { class: "num" }, state.run?.number ?? this.#lastRun(), state.run && [" · ", this.#clock])],
      ["Runs on", placeOf(state)],
      ["Directory", h("span", { class: "mono" }, state.cwd)],
      ["Worktree", state.worktree && h("span", { class: "mono" }, state.worktree)],
      ["Budget", typeof state.budget === "number" && h("span", { class: "num" }, money(state.budget))],
      ["Claude Code", state.cli_version && h("span", { class: "num" }, state.cli_version)],
    ];
    fill(
      this.#facts,
      facts.filter(([, value]) => value).map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
    );
  }

  #lastRun() {
    const last = this.context.model.thread.chunks.at(-1)?.rows.findLast((row) => row.run);
    return last?.run ?? 0;
  }

  #tick() {
    const run = this.context.model.state.value?.run;
    if (run) this.#clock.textContent = clock(now() - run.started_at);
  }

  /** @param {SessionState} state */
  #showLimits(state) {
    const limits = /** @type {RateLimit[]} */ (/** @type {unknown} */ (state.rate_limits ?? []));
    const told = limits.filter((limit) => limit.status !== "allowed" || (limit.utilization ?? 0) > 0.5);
    this.#limits.hidden = told.length === 0;
    fill(this.#limits, told.length > 0 && h("h3", null, "Rate limits"), told.map(limitLine));
  }

  /** @param {SessionState} state */
  #showTasks(state) {
    const tasks = state.tasks.filter(isRunning);
    this.#tasks.hidden = tasks.length === 0;
    if (!this.#tasks.firstElementChild) fill(this.#tasks, h("h3", null, "Tasks"), h("ul", { class: "task-list" }));
    const list = /** @type {Element} */ (this.#tasks.lastElementChild);
    reconcile(list, tasks, {
      key: (task) => task.id,
      make: (task) =>
        h(
          "li",
          null,
          h("span", { class: "spinner", role: "img", "aria-label": "Running" }),
          h("div", { class: "task-words" }),
          this.context.may("approver") && stopButton(task, this.context),
        ),
      update: (line, task) =>
        fill(
          /** @type {Element} */ (line.querySelector(".task-words")),
          h("span", null, task.title),
          h("span", { class: "quiet-text num" }, taskProgress(task)),
        ),
    });
  }
}

/** The machine, and whether it runs there. @param {SessionState} state */
function placeOf(state) {
  if (state.host_name) {
    const gone = isReachable(state) ? "" : state.host_state === "revoked" ? "removed from this hub" : "not connected";
    const how = gone || (state.live ? "" : "not running");
    return [
      h("a", { href: onHost("/sessions", state.host ?? "") }, state.host_name),
      how && h("span", { class: "quiet-text" }, ` · ${how}`),
    ];
  }
  return state.owner === "elsewhere" ? "another process" : state.live ? "this machine" : "not running";
}

/**
 * @typedef {object} RateLimit
 * @property {string} [type]
 * @property {string} status
 * @property {number | null} [utilization]
 * @property {number | null} [resets_at]
 */

/** "five_hour" is a name for programs. @param {RateLimit} limit */
export function limitWords(limit) {
  return (limit.type || "limit").replaceAll("_", " ");
}

/** @param {RateLimit} limit */
function limitLine(limit) {
  const resets = limit.resets_at ? `resets in ${duration(Math.max(0, limit.resets_at - now()))}` : "";
  const used = limit.utilization ?? (limit.status === "rejected" ? 1 : null);
  return h(
    "div",
    { class: "limit" },
    h(
      "div",
      { class: "meter-words" },
      h("span", null, limitWords(limit)),
      h("span", { class: "num" }, used === null ? limit.status : percent(used)),
    ),
    used !== null && meter(used, `Rate limit ${limitWords(limit)}`),
    h(
      "span",
      { class: "quiet-text" },
      [limit.status === "rejected" ? "reached" : "", resets].filter(Boolean).join(", "),
    ),
  );
}

/** @param {number | null | undefined} used @param {number | null | undefined} window */
export function contextWords(used, window) {
  return window ? `${tokens(used)} of ${tokens(window)}` : tokens(used);
}

customElements.define("handrail-details", HandrailDetails);
