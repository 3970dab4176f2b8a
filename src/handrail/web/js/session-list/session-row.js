/**
 * One session in the list: its name, which can be changed in place, where it works, and what it costs.
 */

/** @import { Session } from "../types.js" */

import { fill, h } from "../dom.js";
import { ago, modelName, moment, money } from "../format.js";
import { hostChip } from "../hosts/host-chip.js";
import { icon } from "../icons.js";
import { menuButton } from "../menu.js";
import { sessionPath } from "../router.js";
import { focusSoon } from "../asks/reason.js";

export class SessionRow extends HTMLElement {
  /** @type {Session | null} */
  #session = null;
  owner = false;
  #renaming = false;

  get session() {
    return this.#session;
  }

  /** @param {Session | null} session */
  set session(session) {
    this.#session = session;
    queueMicrotask(() => this.#render());
  }

  /** @param {boolean} selected */
  set selected(selected) {
    this.classList.toggle("selected", selected);
  }

  #render() {
    const session = this.#session;
    if (!session || this.#renaming || this.querySelector("[aria-expanded=true]")) return;
    this.dataset.session = session.id;
    this.setAttribute("role", "listitem");
    const hadFocus = this.contains(document.activeElement);
    fill(
      this,
      h(
        "a",
        { href: sessionPath(session.id), class: "session-link" },
        h("span", { class: "session-title" }, session.title || "New session"),
        h("span", { class: "quiet-text session-where mono" }, session.cwd),
        session.last_words && h("span", { class: "quiet-text session-words" }, session.last_words),
      ),
      h(
        "span",
        { class: "session-marks" },
        session.asks > 0 &&
          h("span", { class: "chip num", dataset: { tone: "needs-you" } }, icon("bell"), session.asks),
        session.mode === "plan" && h("span", { class: "chip", dataset: { tone: "plan" } }, "plan"),
        session.worktree && h("span", { class: "chip", title: session.worktree }, icon("fork"), "worktree"),
        session.host_name && hostChip(session),
        !session.host && session.owner === "elsewhere" && h("span", { class: "chip" }, "in a terminal"),
      ),
      h(
        "span",
        { class: "session-numbers quiet-text num" },
        h("span", null, modelName(session.model)),
        h("span", null, money(session.cost_usd)),
        h("time", { title: moment(session.updated_at) }, ago(session.updated_at)),
      ),
      this.owner ? this.#menu(session) : null,
    );
    if (hadFocus) this.querySelector("a")?.focus();
  }

  /** @param {Session} session */
  #menu(session) {
    return menuButton({
      label: [icon("dots")],
      class: "icon-button",
      name: `More about ${session.title || "this session"}`,
      items: [
        { words: "Rename", run: () => this.#rename(session) },
        {
          words: session.archived ? "Take out of the archive" : "Archive",
          run: () => this.#tell(session, { archived: !session.archived }),
        },
      ],
    });
  }

  /** @param {Session} session */
  #rename(session) {
    this.#renaming = true;
    const field = h("input", { "aria-label": "Name of the session", ".value": session.title, maxlength: 200 });
    const done = (/** @type {boolean} */ save) => {
      if (!this.#renaming) return;
      this.#renaming = false;
      if (save && field.value.trim() && field.value.trim() !== session.title)
        this.#tell(session, { title: field.value.trim() });
      this.#render();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") done(true);
      else if (event.key === "Escape") done(false);
    });
    field.addEventListener("blur", () => done(true));
    fill(this, field);
    focusSoon(field);
  }

  /** @param {Session} session @param {{ title?: string, archived?: boolean }} change */
  #tell(session, change) {
    this.dispatchEvent(new CustomEvent("changed", { bubbles: true, detail: { session, ...change } }));
  }
}

customElements.define("handrail-session-row", SessionRow);
