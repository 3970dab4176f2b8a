/**
 * A session's MCP servers: how they are, with a switch and a way to connect again.
 */

/** @import { McpServer } from "./commands.js" */
/** @import { ItemContext } from "./items.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, reconcile } from "../dom.js";
import { counted } from "../format.js";
import { isReachable } from "../hosts/words.js";
import { icon } from "../icons.js";

/** @type {Record<string, { words: string, tone: string }>} */
const STATUSES = {
  connected: { words: "connected", tone: "done" },
  pending: { words: "connecting", tone: "running" },
  failed: { words: "failed", tone: "failed" },
  "needs-auth": { words: "needs a login", tone: "needs-you" },
  disabled: { words: "off", tone: "" },
};

export class HandrailMcpList extends HandrailElement {
  /** @type {ItemContext} */ context = /** @type {any} */ (null);

  /** What Claude Code said when it was asked; until then what it said at its start. @type {McpServer[] | null} */
  #servers = null;
  #names = "";
  #list = h("ul", { class: "mcp-list" });

  /** @override */
  mount() {
    this.watch(this.context.model.state, () => this.#stateChanged());
    fill(this, h("h3", null, "MCP servers"), this.#list);
    this.#stateChanged();
  }

  /** @override */
  render() {
    const servers = this.#shown();
    this.hidden = servers.length === 0;
    reconcile(this.#list, servers, {
      key: (server) => server.name,
      make: () => h("li"),
      update: (line, server) => this.#showServer(line, server),
    });
  }

  /** @returns {McpServer[]} */
  #shown() {
    return this.#servers ?? this.context.model.state.value?.mcp ?? [];
  }

  /** What the session says of them is older than an answer, but tells when to ask again. */
  #stateChanged() {
    const state = this.context.model.state.value;
    const names = JSON.stringify([this.#canAct, state?.mcp]);
    if (names !== this.#names && this.#canAct && state?.mcp.length) void this.#load();
    this.#names = names;
    this.update();
  }

  /** Whether there is a Claude Code that can be asked. */
  get #canAct() {
    const state = this.context.model.state.value;
    return Boolean(state?.live) && isReachable(state);
  }

  async #load() {
    try {
      this.#servers = (await this.context.commands.servers()).items;
    } catch {
      // It may have ended just now; what it said at its start is still there to be shown.
      this.#servers = null;
    }
    this.update();
  }

  /** @param {HTMLElement} line @param {McpServer} server */
  #showServer(line, server) {
    const shape = JSON.stringify(server) + this.#canAct;
    if (line.dataset.shape === shape) return;
    line.dataset.shape = shape;
    const status = STATUSES[server.status] ?? { words: server.status, tone: "" };
    const on = server.status !== "disabled";
    fill(
      line,
      h("span", { class: "dot", "data-tone": status.tone, "aria-hidden": "true" }),
      h(
        "div",
        { class: "mcp-words" },
        h("span", { class: "mcp-name" }, server.name),
        h(
          "span",
          { class: "quiet-text" },
          [status.words, server.tools?.length ? counted(server.tools.length, "tool") : ""].filter(Boolean).join(" · "),
        ),
        server.error && h("span", { class: "mcp-error mono" }, server.error),
      ),
      this.context.may("owner") && this.#canAct && this.#buttons(server, on),
    );
  }

  /** @param {McpServer} server @param {boolean} on */
  #buttons(server, on) {
    const { commands } = this.context;
    return h(
      "div",
      { class: "mcp-buttons" },
      on &&
        server.status !== "connected" &&
        h(
          "button",
          {
            class: "icon-button",
            title: "Connect again",
            "aria-label": `Connect ${server.name} again`,
            "data-action": "mcp-reconnect",
            onclick: (/** @type {Event} */ event) => this.#act(event, () => commands.reconnectServer(server.name)),
          },
          icon("undo"),
        ),
      h("button", {
        class: "toggle",
        role: "switch",
        "aria-checked": String(on),
        "aria-label": server.name,
        "data-action": "mcp-toggle",
        onclick: (/** @type {Event} */ event) => this.#act(event, () => commands.toggleServer(server.name, !on)),
      }),
    );
  }

  /** @param {Event} event @param {() => Promise<unknown>} act */
  async #act(event, act) {
    const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
    button.disabled = true;
    button.setAttribute("aria-busy", "true");
    try {
      await act();
    } catch (error) {
      this.context.say(inWords(error));
    }
    await this.#load();
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}

customElements.define("handrail-mcp-list", HandrailMcpList);
