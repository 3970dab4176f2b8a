/**
 * All sessions: status first, found by searching, with names that can be changed and an archive.
 */

/** @import { Host, Page, Session } from "../types.js" */
/** @import { KeyName } from "../keys.js" */
/** @import { Route } from "../router.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, reconcile } from "../dom.js";
import { HUB, machinesToSee, runsOn, whereabouts } from "../hosts/words.js";
import { icon } from "../icons.js";
import { morePages } from "../navigation.js";
import { onHost, sessionPath } from "../router.js";
import { SessionRow } from "./session-row.js";
import { byStatus, matches, statusMark } from "./status.js";

const SEARCH_PAUSE_MS = 200;
const ARCHIVE = /** @type {const} */ ({ status: "stopped", words: "Archive", icon: "archive", tone: "quiet" });

export class HandrailSessions extends HandrailElement {
  /** @type {Route} */ route = /** @type {any} */ (null);

  #field = h("input", {
    type: "search",
    placeholder: "Search by name or directory",
    "aria-label": "Search sessions",
    autocomplete: "off",
  });
  #archived = h("input", { type: "checkbox", id: "show-archived" });
  #machine = h("select", { "aria-label": "Machine", hidden: true });
  /** Every machine, once that is known. @type {Host[]} */
  #hosts = [];
  #whereabouts = "";
  #list = h("div", { class: "session-groups" });
  #trouble = h("p", { class: "problem", role: "alert" });
  /** Sessions that the live list leaves out. @type {Session[]} */
  #fromHub = [];
  #selected = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #search;

  /** @override */
  mount() {
    const { home, keys } = this.page;
    this.#trouble.hidden = true;
    fill(
      this,
      h(
        "div",
        { class: "page-head" },
        h("h1", null, "Sessions"),
        morePages(),
        h("a", { href: "/new", class: "button primary" }, icon("plus"), "New session"),
      ),
      h(
        "search",
        { class: "session-search" },
        this.#field,
        this.#machine,
        h("label", { for: "show-archived" }, this.#archived, "Archive"),
      ),
      this.#trouble,
      this.#list,
    );
    this.watch(home.sessions);
    this.watch(home.asks);
    this.watch(home.loaded);
    this.watch(this.page.live.me);
    this.listen(this.#field, "input", () => this.#searched());
    this.listen(this.#archived, "change", () => this.#searched());
    this.listen(this.#machine, "change", () => this.#chosen());
    this.watch(home.sessions, () => this.#sessionsChanged());
    this.#offerMachines();
    void this.#loadHosts();
    this.listen(this, "changed", (event) => void this.#change(event.detail));
    this.every(10, () => this.update());
    const moves = /** @type {[KeyName, () => boolean | void][]} */ ([
      ["down", () => this.#move(1)],
      ["up", () => this.#move(-1)],
      ["open", () => this.#open()],
    ]);
    for (const [name, run] of moves) this.hold(keys.on(name, run));
  }

  /** @override */
  render() {
    const groups = this.#groups();
    this.#list.querySelector(":scope > .empty")?.remove();
    reconcile(this.#list, groups, {
      key: (group) => group.status,
      make: (group) =>
        h(
          "section",
          { class: "session-group", dataset: { tone: group.tone } },
          h("h2", null, statusMark(group.status), group.words, " ", h("span", { class: "num quiet-text" })),
          h("ul", { role: "list" }),
        ),
      update: (element, group) => this.#updateGroup(element, group.sessions),
    });
    if (!groups.length && this.page.home.loaded.value) fill(this.#list, this.#nothing());
  }

  // ---------------------------------------------------------------- one machine of several

  /** The machine whose sessions are shown; empty for all. */
  get #chosenMachine() {
    return this.#machine.value;
  }

  #chosen() {
    this.page.router.rename(onHost("/sessions", this.#chosenMachine));
    this.#searched();
  }

  async #loadHosts() {
    try {
      this.#hosts = (await this.page.api.get("/api/hosts", { query: { revoked: true } })).items;
    } catch {
      // Without it all sessions are shown, as they are anyway.
    }
    if (!this.isConnected) return;
    this.#offerMachines();
    this.#searched();
  }

  /** A host that comes or goes is another choice. */
  #sessionsChanged() {
    const now = whereabouts(this.page.home.sessions.value.values());
    if (this.#whereabouts && now !== this.#whereabouts) void this.#loadHosts();
    this.#whereabouts = now;
  }

  /** With one machine there is nothing to choose. */
  #offerMachines() {
    const machines = machinesToSee(this.#hosts);
    const wanted = this.#chosenMachine || (this.#hosts.length ? "" : (this.route?.query.host ?? ""));
    const known = !wanted || machines.some(({ value }) => value === wanted);
    const choices = [
      { value: "", words: "All machines" },
      ...machines,
      ...(known ? [] : [{ value: wanted, words: wanted }]),
    ];
    fill(
      this.#machine,
      choices.map(({ value, words }) => h("option", { value }, words)),
    );
    this.#machine.value = wanted;
    this.#machine.hidden = choices.length < 3 && !wanted;
  }

  #groups() {
    const words = this.#field.value.trim();
    if (this.#archived.checked) return this.#fromHub.length ? [{ ...ARCHIVE, sessions: this.#fromHub }] : [];
    const live = [...this.page.home.sessions.value.values()].filter(
      (session) => !session.archived && runsOn(session, this.#chosenMachine) && (!words || matches(session, words)),
    );
    const older = this.#fromHub.filter((session) => !this.page.home.sessions.value.has(session.id));
    return byStatus([...live, ...older], this.page.home.waiting());
  }

  /** @param {HTMLElement} element @param {Session[]} sessions */
  #updateGroup(element, sessions) {
    const count = element.querySelector("h2 .num");
    if (count) count.textContent = String(sessions.length);
    const list = element.querySelector("ul");
    if (!list) return;
    reconcile(list, sessions, {
      key: (session) => session.id,
      make: () => new SessionRow(),
      update: (row, session) =>
        Object.assign(row, { session, owner: this.page.may("owner"), selected: session.id === this.#selected }),
    });
  }

  #nothing() {
    if (this.#archived.checked) return h("div", { class: "empty" }, h("p", null, "The archive has nothing that fits."));
    if (this.#field.value)
      return h("div", { class: "empty" }, h("p", null, "No session is called that, or works there."));
    if (this.#chosenMachine)
      return h(
        "div",
        { class: "empty" },
        h("p", null, "No session runs on this machine."),
        h("a", { href: "/sessions", class: "button" }, "All machines"),
      );
    return h(
      "div",
      { class: "empty" },
      h("h2", null, "No sessions yet"),
      h("p", null, "Start one, or take over a conversation that Claude Code already has on this machine."),
      h("a", { href: "/new", class: "button primary" }, icon("plus"), "New session"),
    );
  }

  // ---------------------------------------------------------------- searching beyond the live list

  #searched() {
    this.update();
    clearTimeout(this.#search);
    const narrowed = this.#field.value.trim() || this.#chosenMachine;
    const beyond = this.#archived.checked || (this.page.home.more && narrowed);
    if (beyond) this.#search = setTimeout(() => void this.#searchHub(), SEARCH_PAUSE_MS);
    else this.#fromHub = [];
  }

  /** In the archive, and among sessions too old for the live list. */
  async #searchHub() {
    const q = this.#field.value.trim();
    const query = { archived: this.#archived.checked, q, host: this.#askedHost(), limit: 100 };
    try {
      /** @type {Page<Session>} */
      const found = await this.page.api.get("/api/sessions", { query });
      this.#fromHub = found.items.filter((session) => session.archived === this.#archived.checked);
    } catch (error) {
      this.#tell(error);
    }
    this.update();
  }

  /** How the hub is asked for the machine: for its own by name, since an empty id is left out. */
  #askedHost() {
    return this.#chosenMachine === HUB ? this.#hosts.find((host) => host.is_hub)?.name : this.#chosenMachine;
  }

  // ---------------------------------------------------------------- changing one

  /** @param {{ session: Session, title?: string, archived?: boolean }} change */
  async #change({ session, ...change }) {
    try {
      await this.page.api.patch(`/api/sessions/${encodeURIComponent(session.id)}`, change);
      // Shown at once; the live list says the same a moment later.
      Object.assign(session, change);
      this.#trouble.hidden = true;
      if (this.#archived.checked) await this.#searchHub();
    } catch (error) {
      this.#tell(error);
    }
    this.page.home.sessions.changed();
  }

  /** @param {unknown} error */
  #tell(error) {
    fill(this.#trouble, icon("alert"), " ", inWords(error));
    this.#trouble.hidden = false;
  }

  // ---------------------------------------------------------------- keys

  /** @param {number} step */
  #move(step) {
    const rows = [...this.#list.querySelectorAll("handrail-session-row")];
    const here = rows.findIndex((row) => row.getAttribute("data-session") === this.#selected);
    const next = rows[Math.max(0, Math.min(rows.length - 1, here + step))];
    if (!next) return false;
    this.#selected = next.getAttribute("data-session") ?? "";
    next.querySelector("a")?.focus();
    this.render();
  }

  #open() {
    if (!this.#selected) return false;
    this.page.router.go(sessionPath(this.#selected));
  }
}

customElements.define("handrail-sessions", HandrailSessions);
