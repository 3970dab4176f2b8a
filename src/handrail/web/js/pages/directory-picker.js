/**
 * Choosing a directory of a machine: recent ones first, or step by step from a root. Nothing outside the roots of the
 * machine is listed.
 */

import { inWords } from "../api.js";
import { fill, h, HandrailElement } from "../dom.js";
import { ago, baseName } from "../format.js";
import { icon } from "../icons.js";

/**
 * @typedef {object} Listing
 * @property {string} path
 * @property {string | null} parent
 * @property {{ name: string, path: string, git?: boolean }[]} items
 * @property {number} [left_out]
 * @property {string[]} roots
 * @property {{ path: string, at?: number }[]} recent
 */

export class HandrailDirectories extends HandrailElement {
  /** Called with each directory that is chosen. @type {(listing: Listing) => void} */
  changed = () => {};

  /** The machine; empty for the hub's own. */
  #host = "";
  #value = "";
  /** @type {Listing | null} */ #listing = null;
  #trouble = "";
  #browsing = false;
  #asked = 0;
  #field = h("input", {
    type: "text",
    class: "mono",
    "aria-label": "Directory",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    "data-hook": "directory",
  });
  #recent = h("div", { class: "recent", role: "group", "aria-label": "Recent directories" });
  #list = h("div", { class: "directory-list" });
  #browse = h(
    "button",
    { type: "button", "aria-expanded": "false", onclick: () => this.#flip() },
    icon("list"),
    "Browse",
  );

  get value() {
    return this.#field.value.trim();
  }

  set value(path) {
    this.#value = path;
    this.#field.value = path;
  }

  /** Look at another machine, whose directories are others. @param {string} host */
  set host(host) {
    if (host === this.#host) return;
    this.#host = host;
    this.value = "";
    this.#listing = null;
    this.#trouble = "";
    if (this.#browsing) this.#flip();
    if (this.isConnected) void this.#begin();
  }

  /** @override */
  mount() {
    fill(this, h("div", { class: "directory-row" }, this.#field, this.#browse), this.#recent, this.#list);
    this.listen(this.#field, "change", () => void this.go(this.#field.value.trim()));
    this.listen(this.#field, "keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      void this.go(this.#field.value.trim());
    });
    void this.#begin();
  }

  /** The directory that was used last, unless one is given. */
  async #begin() {
    const host = this.#host;
    await this.go(this.#value, { quiet: true });
    const [latest] = this.#listing?.recent ?? [];
    if (this.#value || !this.#listing || host !== this.#host || !this.isConnected) return;
    if (latest) return void (await this.go(latest.path));
    // Nothing was used yet: where to begin is for the person to see.
    this.value = this.#listing.path;
    this.#flip();
  }

  /** @param {string} path @param {{ quiet?: boolean }} [how] */
  async go(path, { quiet = false } = {}) {
    const asked = ++this.#asked;
    try {
      const listing = await this.page.api.get("/api/directories", { query: { path, host: this.#host } });
      if (asked !== this.#asked) return;
      this.#listing = listing;
      this.#trouble = "";
      if (!quiet || path) this.value = listing.path;
      this.changed(listing);
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#trouble = inWords(error);
    }
    this.render();
  }

  #flip() {
    this.#browsing = !this.#browsing;
    this.#browse.setAttribute("aria-expanded", String(this.#browsing));
    this.render();
  }

  /** @override */
  render() {
    const listing = this.#listing;
    fill(
      this.#recent,
      (listing?.recent ?? []).slice(0, 6).map(({ path, at }) =>
        h(
          "button",
          {
            type: "button",
            class: "recent-directory",
            title: at ? `${path}, used ${ago(at)}` : path,
            "aria-pressed": String(path === this.value),
            onclick: () => void this.go(path),
          },
          baseName(path),
        ),
      ),
    );
    this.#recent.hidden = !listing?.recent.length;
    this.#list.hidden = !this.#browsing && !this.#trouble;
    fill(
      this.#list,
      this.#trouble && h("p", { class: "problem", role: "alert" }, this.#trouble),
      this.#browsing && listing && this.#listed(listing),
    );
  }

  /** @param {Listing} listing */
  #listed({ parent, items, roots, path, left_out: left = 0 }) {
    return h(
      "ul",
      { "aria-label": `Directories in ${path}` },
      roots.length > 1 && roots.filter((root) => root !== path).map((root) => this.#entry(root, root, "panel")),
      parent !== null && this.#entry(parent, "..", "arrow_left"),
      items.map(({ name, path: inside, git }) => this.#entry(inside, name, git ? "fork" : "list", git)),
      items.length === 0 && h("li", { class: "quiet-text" }, "No directories in here."),
      left > 0 && h("li", { class: "quiet-text" }, `${left} more are not listed: type their path.`),
    );
  }

  /** @param {string} path @param {string} words @param {import("../icons.js").IconName} sign @param {boolean} [git] */
  #entry(path, words, sign, git = false) {
    return h(
      "li",
      null,
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => void this.go(path) },
        icon(sign),
        h("span", null, words),
        git && h("span", { class: "quiet-text" }, "git"),
      ),
    );
  }
}

customElements.define("handrail-directories", HandrailDirectories);
