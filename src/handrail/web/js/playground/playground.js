/**
 * Development only: every state of every message, composer and panel on one page, without a hub behind it. Screenshot
 * tests look at it.
 */

/** @import { SessionState } from "../types.js" */
/** @import { ItemContext } from "../session/items.js" */

import { fill, h, HandrailElement, make } from "../dom.js";
import { Commands } from "../session/commands.js";
import { HandrailComposer } from "../session/composer.js";
import { HandrailDetails } from "../session/details-panel.js";
import { groupRows } from "../session/grouping.js";
import { drawItems } from "../session/items.js";
import { SessionModel } from "../session/model.js";
import { Streaming } from "../session/streaming.js";
import { askScenes } from "./asks.js";
import { MOMENT, scenes, state } from "./rows.js";

/** @type {{ title: string, state: Partial<SessionState> }[]} */
const COMPOSERS = [
  { title: "Idle", state: { status: "idle", run: null } },
  {
    title: "Running, with messages that wait",
    state: {
      queued: [
        { uuid: "q1", text: "And then update the changelog", state: "queued", at: MOMENT },
        {
          uuid: "q2",
          text: "A longer message that does not fit on one line of a phone, and not on a desk's either if it goes on like this",
          state: "queued",
          at: MOMENT,
        },
      ],
    },
  },
  { title: "The API is tried again", state: { retry: /** @type {any} */ ("529 overloaded, try 2 of 10") } },
  { title: "Compacting", state: { compacting: true } },
  { title: "The process ended", state: { status: "stopped", run: null, live: false, owner: null } },
  { title: "Its host is away", state: { host: "h1", host_name: "build-box", host_state: "away" } },
  { title: "Its host was removed", state: { host: "h1", host_name: "build-box", host_state: "revoked" } },
  { title: "It runs elsewhere", state: { status: "running", owner: "elsewhere" } },
  {
    title: "Plan mode, nearly full",
    state: { status: "idle", run: null, mode: "plan", context: { tokens: 171_000, window: 200_000 }, cost_usd: 12.3 },
  },
  { title: "Bypass", state: { status: "idle", run: null, mode: "bypassPermissions" } },
];

export class HandrailPlayground extends HandrailElement {
  /** @override */
  mount() {
    const only = new URLSearchParams(location.search).get("scene");
    const all = [
      ...this.#conversations(),
      ...askScenes(),
      ...this.#writing(),
      ...COMPOSERS.map((each) => this.#composer(each)),
      this.#details(),
    ];
    fill(
      this,
      h("header", { class: "page-head" }, h("h1", null, "Playground")),
      all
        .filter(({ title }) => !only || slug(title) === only)
        .map(({ title, element }) =>
          h("section", { class: "scene", id: slug(title), "data-scene": slug(title) }, h("h2", null, title), element),
        ),
    );
  }

  #conversations() {
    return scenes().map(({ title, rows }) => {
      const context = this.#context({ tasks: [] });
      context.model.thread.takeTail(rows, null);
      const running = rows.findLast(
        (row) => row.type === "action" && row.kind === "subagent" && row.phase !== "completed",
      );
      if (running)
        context.model.state.set(
          state({
            tasks: [
              /** @type {any} */ ({
                id: "t1",
                row: running.key,
                title: "Review the change",
                kind: "local_agent",
                status: "running",
                phase: "updated",
                summary: "Reading src/login.py",
                progress: { usage: { tool_uses: 3, total_tokens: 8400 } },
              }),
            ],
          }),
        );
      const column = h("div", { class: "column" });
      drawItems(column, groupRows(context.model.thread.chunks.flatMap((chunk) => chunk.rows)), context);
      return { title, element: column };
    });
  }

  #writing() {
    const place = h("div", { class: "column" });
    const { model } = this.#context({});
    for (const kind of ["thinking", "text", "input"])
      model.writing.take({
        block: kind,
        kind,
        offset: 0,
        text: "I start with the fixture. It is **shared** between tests, which",
      });
    new Streaming(place).show(model.writing, ["thinking", "text", "input"]);
    return [{ title: "Being written", element: place }];
  }

  /** @param {{ title: string, state: Partial<SessionState> }} scene */
  #composer({ title, state: more }) {
    return { title: `Composer: ${title}`, element: make(HandrailComposer, { context: this.#context(more) }) };
  }

  #details() {
    const context = this.#context({
      mcp: [
        { name: "github", status: "connected" },
        { name: "postgres", status: "failed" },
        { name: "figma", status: "needs-auth" },
        { name: "old", status: "disabled" },
      ],
      rate_limits: [{ type: "five_hour", status: "allowed_warning", utilization: 0.87, resets_at: MOMENT + 3600 }],
      tasks: [
        {
          id: "t1",
          title: "Review the change",
          kind: "local_agent",
          status: "running",
          phase: "updated",
          summary: "Reading src/login.py",
        },
      ],
      worktree: "login-fix",
      live: false,
    });
    return { title: "Details", element: make(HandrailDetails, { context }) };
  }

  /** @param {Partial<SessionState>} more @returns {ItemContext} */
  #context(more) {
    const model = new SessionModel("playground", this.page.api);
    model.state.set(state(more));
    return {
      model,
      commands: new Commands(this.page.api, "playground"),
      promptMenu: () => [],
      waits: (row) => row.outcome === null,
      cardOf: (row) => row.card,
      showAsk: () => {},
      say: () => {},
      may: () => true,
      isMe: (name) => name === "owner",
    };
  }
}

/** @param {string} title */
function slug(title) {
  return title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

customElements.define("handrail-playground", HandrailPlayground);
