/**
 * The left column of a desk: what needs you first, then what runs, then the rest.
 */

/** @import { Session } from "../types.js" */

import { h, HandrailElement, reconcile } from "../dom.js";
import { ago, baseName, clock, now } from "../format.js";
import { placeName } from "../hosts/words.js";
import { keyHint } from "../keys.js";
import { quickPlaces } from "../navigation.js";
import { sessionPath } from "../router.js";
import { byStatus, matches, statusMark } from "./status.js";

/** More than these are found by searching. */
const MOST_PER_GROUP = { needs_you: 50, running: 50, queued: 20, waiting: 8, idle: 12, failed: 8, stopped: 6 };

/** @typedef {ReturnType<typeof byStatus>[number]} Group */

export class HandrailSidebar extends HandrailElement {
  #field = h("input", { type: "search", placeholder: "Search", "aria-label": "Search sessions", autocomplete: "off" });
  #list = h("nav", { class: "side-list", "aria-label": "Sessions" });

  /** @override */
  mount() {
    const { home, router } = this.page;
    this.replaceChildren(
      quickPlaces(this.page),
      h("search", { class: "side-search" }, this.#field, keyHint("search")),
      this.#list,
    );
    this.watch(home.sessions);
    this.watch(home.asks);
    this.watch(home.loaded);
    this.watch(router.route, () => this.#mark());
    this.listen(this.#field, "input", () => this.update());
    this.listen(this.#field, "keydown", (event) => this.#keyInField(event));
    this.every(1, () => this.#tick());
  }

  /** @override */
  render() {
    const words = this.#field.value.trim();
    const found = [...this.page.home.sessions.value.values()].filter(
      (session) => !session.archived && (!words || matches(session, words)),
    );
    const groups = byStatus(found, this.page.home.waiting());
    this.#list.querySelector(":scope > .side-empty")?.remove();
    reconcile(this.#list, groups, {
      key: (group) => group.status,
      make: (group) => this.#group(group),
      update: (element, group) => this.#updateGroup(element, group),
    });
    if (!groups.length && this.page.home.loaded.value) this.#list.append(this.#nothing(words));
    this.#mark();
  }

  /** @param {string} words */
  #nothing(words) {
    return h(
      "p",
      { class: "side-empty quiet-text" },
      words
        ? ["Nothing is called that. ", h("a", { href: "/sessions" }, "Search the archive too")]
        : "No sessions yet.",
    );
  }

  /** @param {Group} group */
  #group(group) {
    return h(
      "section",
      { class: "side-group", dataset: { tone: group.tone } },
      h("h2", null, statusMark(group.status), h("span", null, group.words), h("span", { class: "num side-count" })),
      h("ul", { role: "list" }),
    );
  }

  /** @param {HTMLElement} element @param {Group} group */
  #updateGroup(element, group) {
    const count = element.querySelector(".side-count");
    if (count) count.textContent = String(group.sessions.length);
    const list = element.querySelector("ul");
    if (!list) return;
    reconcile(list, group.sessions.slice(0, this.#field.value ? 100 : MOST_PER_GROUP[group.status]), {
      key: (session) => session.id,
      make: (session) => this.#row(session),
      update: (row, session) => this.#updateRow(row, session),
    });
  }

  /** @param {Session} session */
  #row(session) {
    return h(
      "li",
      { dataset: { session: session.id } },
      h(
        "a",
        { href: sessionPath(session.id), class: "side-row" },
        h("span", { class: "side-title" }),
        h("span", { class: "side-where quiet-text" }),
        h("span", { class: "side-time quiet-text num" }),
      ),
    );
  }

  /** @param {HTMLElement} row @param {Session} session */
  #updateRow(row, session) {
    setText(row, ".side-title", session.title || "New session");
    const where = [this.#wants(session), placeName(session), baseName(session.cwd)];
    setText(row, ".side-where", where.filter(Boolean).join(" · "));
    // The clock of what runs goes on, whatever happens meanwhile.
    const goesOn = session.status === "running" && row.dataset.status === "running";
    if (!goesOn) row.dataset.since = String(session.updated_at);
    row.dataset.status = session.status;
    row.querySelector("a")?.setAttribute("title", `${session.title}\n${session.cwd}`);
    this.#time(row);
  }

  /** What a session that needs somebody asks for. @param {Session} session */
  #wants(session) {
    const asks = this.page.home.waiting().filter((card) => card.session === session.id);
    return asks[0] ? `${asks[0].title}${asks.length > 1 ? ` +${asks.length - 1}` : ""}` : "";
  }

  /** @param {HTMLElement} row */
  #time(row) {
    const since = Number(row.dataset.since);
    const seconds = now() - since;
    // Only what runs has a clock: a list that changes every second cannot be read.
    const rests = seconds < 60 ? "now" : ago(since).replace(" ago", "");
    setText(row, ".side-time", row.dataset.status === "running" ? clock(seconds) : rests);
  }

  #tick() {
    if (document.hidden) return;
    for (const row of this.#list.querySelectorAll("li")) this.#time(row);
  }

  #mark() {
    const { params } = this.page.router.route.value;
    for (const row of this.#list.querySelectorAll("li")) {
      const link = row.querySelector("a");
      if (row.dataset.session === params.id) link?.setAttribute("aria-current", "page");
      else link?.removeAttribute("aria-current");
    }
  }

  /** @param {KeyboardEvent} event */
  #keyInField(event) {
    if (event.key === "Escape") {
      this.#field.value = "";
      this.#field.blur();
      this.update();
    } else if (event.key === "Enter") {
      this.#list.querySelector("a")?.click();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      this.#list.querySelector("a")?.focus();
    }
  }
}

/** @param {Element} within @param {string} selector @param {string} text */
function setText(within, selector, text) {
  const element = within.querySelector(selector);
  if (element && element.textContent !== text) element.textContent = text;
}

customElements.define("handrail-sidebar", HandrailSidebar);
