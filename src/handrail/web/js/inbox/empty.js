/**
 * The inbox when nothing waits: what runs, and what to do next.
 */

/** @import { Session } from "../types.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement } from "../dom.js";
import { baseName, counted } from "../format.js";
import { icon } from "../icons.js";
import { sessionPath } from "../router.js";

const MOST_SHOWN = 5;

export class EmptyInbox extends HandrailElement {
  /** Whether the hub offers its demo; null until it is known. @type {boolean | null} */
  #offersDemo = null;
  #starting = false;
  #trouble = h("span", { class: "quiet-text", role: "alert" });
  #shown = "";

  /** @override */
  mount() {
    this.watch(this.page.home.sessions);
    this.watch(this.page.live.me);
  }

  /** @override */
  render() {
    const sessions = [...this.page.home.sessions.value.values()].filter((session) => !session.archived);
    const running = sessions.filter(({ status }) => status === "running");
    const shape = JSON.stringify([
      sessions.length > 0,
      running.map(({ id, title }) => [id, title]),
      this.#offersDemo,
      this.#starting,
      this.page.may("owner"),
    ]);
    if (shape === this.#shown) return;
    this.#shown = shape;
    if (sessions.length) return fill(this, h("div", { class: "empty" }, this.#quiet(running)));
    if (this.#offersDemo === null) void this.#askForDemo();
    fill(this, h("div", { class: "empty" }, this.#welcome()));
  }

  /** @param {Session[]} running */
  #quiet(running) {
    const count = counted(running.length, "session");
    return [
      h("h2", null, "Nothing waits for you"),
      h("p", null, running.length ? `${count} running. What needs you will appear here.` : "Nothing is running."),
      running.length > 0 &&
        h(
          "ul",
          { class: "empty-list" },
          running
            .slice(0, MOST_SHOWN)
            .map((session) =>
              h(
                "li",
                null,
                h("a", { href: sessionPath(session.id) }, session.title || "New session"),
                " ",
                h("span", { class: "quiet-text" }, baseName(session.cwd)),
              ),
            ),
        ),
      this.page.may("owner") && h("a", { class: "button", href: "/new" }, icon("plus"), "New session"),
    ];
  }

  #welcome() {
    const owner = this.page.may("owner");
    return [
      h("h2", null, "Welcome"),
      h(
        "p",
        null,
        "Sessions of Claude Code run here, and what they ask appears on this page: permissions, plans, questions.",
      ),
      owner && h("a", { class: "button primary", href: "/new" }, icon("plus"), "Start a session"),
      owner &&
        this.#offersDemo && [
          h(
            "p",
            null,
            "No Claude account on this machine? The demo shows a permission, a plan and a question in one minute.",
          ),
          h(
            "p",
            null,
            h(
              "button",
              { type: "button", dataset: { act: "demo" }, disabled: this.#starting, onclick: () => void this.#startDemo() },
              icon("play"),
              "Watch the demo",
            ),
            " ",
            this.#trouble,
          ),
        ],
    ];
  }

  async #askForDemo() {
    this.#offersDemo = false;
    try {
      this.#offersDemo = Boolean((await this.page.api.get("/api/hub")).demo_offered);
    } catch {
      // The page says itself when the hub is out of reach; the demo is only an offer.
    }
    this.update();
  }

  async #startDemo() {
    if (this.#starting) return;
    this.#starting = true;
    fill(this.#trouble, h("span", { class: "spinner" }), " Starting Claude Code…");
    this.update();
    try {
      const session = await this.page.api.post("/api/demo", {});
      this.page.router.go(sessionPath(session.id));
    } catch (error) {
      fill(this.#trouble, inWords(error));
    } finally {
      this.#starting = false;
      this.update();
    }
  }
}

customElements.define("handrail-empty-inbox", EmptyInbox);
