/**
 * The audit log: who did what, when, from where, and what came of it. Newest first.
 */

import { fill, h, HandrailElement } from "../dom.js";
import { moment, timeOfDay } from "../format.js";
import { sessionPath } from "../router.js";
import { actButton } from "./parts.js";

/**
 * @typedef {{ at: number, actor: string, surface: string, action: string, session_id?: string | null, ask_id?: string | null,
 *   outcome: string, detail?: string }} Entry
 */

const PAGE = 50;

export class HandrailAudit extends HandrailElement {
  /** @type {Entry[]} */ #entries = [];
  /** @type {string | number | null} */ #next = null;
  #opened = false;
  #table = h("tbody");
  #more = h("div");
  #details = h(
    "details",
    null,
    h("summary", null, "Show"),
    h(
      "div",
      { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Audit log" },
      h(
        "table",
        { class: "numbers" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ["When", "Who", "What", "Outcome"].map((words) => h("th", { scope: "col" }, words)),
          ),
        ),
        this.#table,
      ),
    ),
    this.#more,
  );

  /** @override */
  mount() {
    fill(this, this.#details);
    this.listen(this.#details, "toggle", () => {
      if (!this.#details.open || this.#opened) return;
      this.#opened = true;
      void this.#load();
    });
    fill(this.#more, actButton({ label: ["Load more"], doing: "Loading…", class: "quiet", run: () => this.#load() }));
  }

  async #load() {
    const { items, next } = await this.page.api.get("/api/audit", { query: { limit: PAGE, cursor: this.#next } });
    this.#entries.push(...items);
    this.#next = next ?? null;
    this.render();
  }

  /** @override */
  render() {
    this.#more.hidden = this.#opened && this.#next === null;
    fill(
      this.#table,
      this.#entries.map((entry) =>
        h(
          "tr",
          { class: entry.outcome !== "ok" && "refused" },
          h("td", { class: "num nowrap" }, h("time", { title: moment(entry.at) }, timeOfDay(entry.at))),
          h("td", null, entry.actor, h("span", { class: "quiet-text" }, ` ${entry.surface}`)),
          h(
            "td",
            null,
            h("code", null, entry.action),
            entry.detail && h("span", { class: "quiet-text" }, ` ${entry.detail}`),
            entry.session_id && [" ", h("a", { href: sessionPath(entry.session_id) }, "session")],
          ),
          h("td", null, entry.outcome),
        ),
      ),
      this.#opened &&
        this.#entries.length === 0 &&
        h("tr", null, h("td", { colspan: "4", class: "quiet-text" }, "Nothing yet.")),
    );
  }
}

customElements.define("handrail-audit", HandrailAudit);
