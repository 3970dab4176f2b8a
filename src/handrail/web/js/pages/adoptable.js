/**
 * Sessions that Claude Code keeps and Handrail does not know yet: going on with one takes it over.
 */

import { inWords } from "../api.js";
import { fill, h, HandrailElement } from "../dom.js";
import { ago, counted, moment } from "../format.js";
import { sessionPath } from "../router.js";
import { actButton } from "./parts.js";

/** @typedef {{ cli_session_id: string, title: string, cwd: string, updated_at: number, messages?: number | null }} Adoptable */

export class HandrailAdoptable extends HandrailElement {
  /** The machine; empty for the hub's own. */
  #host = "";
  /** @type {Adoptable[] | null} */ #found = null;
  #trouble = "";
  #filter = h("input", {
    type: "text",
    placeholder: "Filter by title or directory",
    "aria-label": "Filter by title or directory",
    oninput: () => this.render(),
  });
  #list = h("div", { class: "adoptable-list" });

  /** @override */
  mount() {
    fill(
      this,
      h(
        "p",
        { class: "quiet-text" },
        "Sessions that were begun with Claude Code itself. Resuming one continues the same conversation here; close it in the terminal first.",
      ),
      this.#filter,
      this.#list,
    );
  }

  /** Look at another machine, whose sessions are others. @param {string} host */
  set host(host) {
    if (host === this.#host) return;
    this.#host = host;
    this.#found = null;
    this.#trouble = "";
    if (this.isConnected) this.render();
  }

  async load() {
    if (this.#found) return;
    const host = this.#host;
    let [found, trouble] = [this.#found, ""];
    try {
      found = (await this.page.api.get("/api/adoptable", { query: { host } })).items;
    } catch (error) {
      trouble = inWords(error);
    }
    if (host !== this.#host) return;
    this.#found = found;
    this.#trouble = trouble;
    this.render();
  }

  /** @override */
  render() {
    if (this.#trouble) return fill(this.#list, h("p", { class: "problem" }, this.#trouble));
    if (!this.#found)
      return fill(this.#list, h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Looking…"));
    const words = this.#filter.value.trim().toLowerCase();
    const shown = this.#found.filter(({ title, cwd }) => `${title} ${cwd}`.toLowerCase().includes(words));
    this.#filter.hidden = this.#found.length === 0;
    fill(
      this.#list,
      shown.length === 0 &&
        h(
          "p",
          { class: "quiet-text" },
          this.#found.length ? "None of them fits." : "There are none that Handrail does not know.",
        ),
      shown.map((each) => this.#entry(each)),
    );
  }

  /** @param {Adoptable} session */
  #entry({ cli_session_id: id, title, cwd, updated_at: at, messages }) {
    return h(
      "article",
      { class: "adoptable" },
      h(
        "div",
        null,
        h("h3", null, title || "Untitled"),
        h(
          "p",
          { class: "quiet-text" },
          h("span", { class: "mono" }, cwd),
          " · ",
          h("time", { title: moment(at) }, ago(at)),
          messages ? ` · ${counted(messages, "message")}` : "",
        ),
      ),
      actButton({
        label: ["Resume"],
        doing: "Taking over…",
        name: `Resume ${title}`,
        run: async () => {
          const session = await this.page.api.post("/api/adopt", {
            cli_session_id: id,
            ...(this.#host && { host: this.#host }),
          });
          this.page.router.go(sessionPath(session.id));
        },
      }),
    );
  }
}

customElements.define("handrail-adoptable", HandrailAdoptable);
