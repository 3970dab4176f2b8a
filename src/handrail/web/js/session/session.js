/**
 * The screen of one session: the conversation, what waits for a person, the composer, and the details beside them.
 */

/** @import { AskRow, PromptRow } from "../types.js" */
/** @import { Route } from "../router.js" */
/** @import { ItemContext } from "./items.js" */

import { fill, h, HandrailElement, make } from "../dom.js";
import { askKey } from "../home.js";
import { icon } from "../icons.js";
import { Commands } from "./commands.js";
import { HandrailComposer } from "./composer.js";
import { HandrailDetails } from "./details-panel.js";
import { HandrailFind } from "./find-bar.js";
import { HandrailSessionHead } from "./session-head.js";
import { SessionModel } from "./model.js";
import { HandrailPinnedAsks } from "./pinned-asks.js";
import { rewindTo } from "./rewind.js";
import { HandrailThread } from "./thread-view.js";

const FOLDED = "handrail.details.folded";
const SAID_MS = 8000;

export class HandrailSession extends HandrailElement {
  /** @type {Route} */ route = /** @type {any} */ (null);

  /** @type {SessionModel} */ #model = /** @type {any} */ (null);
  /** @type {HandrailThread | null} */ #thread = null;
  /** @type {HandrailPinnedAsks | null} */ #pinned = null;
  /** @type {HandrailDetails | null} */ #details = null;
  #toast = h("div", { class: "toast", role: "alert", hidden: true });
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #hiding;
  #shownTasks = "";
  #wasRunning = false;

  /** @override */
  mount() {
    const id = this.route.params.id ?? "";
    this.#model = new SessionModel(id, this.page.api);
    this.#build(this.#context(id));
    this.hold(this.#model.follow(this.page.live));
    this.watch(this.#model.state, () => this.#stateChanged());
    this.watch(this.#model.trouble, (words) => this.#showTrouble(words));
    this.watch(this.page.home.asks, () => this.#redrawAsks());
    this.listen(this, "sent", () => this.#thread?.toEnd());
    this.listen(document, "keydown", (event) => this.#pressed(event));
    this.dataset.session = id;
  }

  /** @param {string} id @returns {ItemContext} */
  #context(id) {
    const commands = new Commands(this.page.api, id);
    return {
      model: this.#model,
      commands,
      promptMenu: (row) => this.#promptMenu(row, commands),
      waits: (row) => this.#waits(row),
      // An answer that was just given is known here before its row says so.
      cardOf: (row) => this.#cardOf(askKey(id, row.ask_id), row),
      showAsk: (askId) => this.#pinned?.show(askId),
      say: (words) => this.#say(words),
      may: (role) => this.page.may(role),
      isMe: (name) => name === this.page.live.me.value?.name,
    };
  }

  /** An ask as it stands; that an answer of ours came too late is known only here. @param {string} key @param {AskRow} row */
  #cardOf(key, row) {
    const known = this.page.home.answered.value.get(key);
    if (row.outcome === null) return known ?? row.card;
    const { closed } = row.card;
    return closed && known?.closed?.late ? { ...row.card, closed: { ...closed, late: true } } : row.card;
  }

  /** @param {ItemContext} context */
  #build(context) {
    const { model, commands } = context;
    this.#thread = make(HandrailThread, { model, context });
    const find = make(HandrailFind, { commands, reveal: async (key) => (await this.#thread?.reveal(key)) ?? null });
    this.#pinned = make(HandrailPinnedAsks, { session: model.id });
    this.#details = make(HandrailDetails, { context, fold: () => this.#foldDetails(true) });
    this.#foldDetails(isFolded());
    fill(
      this,
      make(HandrailSessionHead, {
        context,
        find: () => find.open(),
        toggleDetails: () => this.#foldDetails(!this.hasAttribute("data-folded")),
      }),
      h(
        "div",
        { class: "session-body" },
        h(
          "div",
          { class: "conversation" },
          find,
          this.#thread,
          this.#toast,
          this.#pinned,
          make(HandrailComposer, { context }),
        ),
        this.#details,
      ),
    );
  }

  #stateChanged() {
    const state = this.#model.state.value;
    if (!state) return;
    if (this.#wasRunning && !state.run)
      this.page.notifier.announce(state.status === "failed" ? "The run failed." : "Claude has finished.");
    this.#wasRunning = Boolean(state.run);
    this.page.notifier.subject(state.title || "Session");
    this.dataset.status = state.status;
    // A subagent's progress is told in the state, and shown at its row.
    const tasks = JSON.stringify(state.tasks);
    if (tasks !== this.#shownTasks)
      this.#thread?.refresh(state.tasks.map((task) => /** @type {any} */ (task).row).filter(Boolean));
    this.#shownTasks = tasks;
  }

  /** Whether an ask still waits: also one whose process ended, as long as it can be answered. @param {AskRow} row */
  #waits(row) {
    const key = askKey(this.#model.id, row.ask_id);
    if (this.page.home.asks.value.has(key)) return true;
    return row.outcome === null && !this.page.home.answered.value.has(key);
  }

  #redrawAsks() {
    const asks = [...this.querySelectorAll("[data-type=ask][data-row]")];
    this.#thread?.refresh(asks.map((ask) => /** @type {HTMLElement} */ (ask).dataset.row ?? ""));
  }

  /** @param {PromptRow} row @param {Commands} commands */
  #promptMenu(row, commands) {
    return [
      { words: "Copy text", run: () => void navigator.clipboard.writeText(row.text) },
      ...(row.uuid && this.page.may("owner")
        ? [
            {
              words: "Rewind files to before this…",
              hint: "Shows first what would change",
              run: () => void rewindTo(row, commands, (words) => this.#say(words)),
            },
          ]
        : []),
    ];
  }

  /** Fold the details away, or bring them back; it stays so. @param {boolean} folded */
  #foldDetails(folded) {
    this.toggleAttribute("data-folded", folded);
    try {
      localStorage.setItem(FOLDED, folded ? "yes" : "no");
    } catch {
      // Storage is switched off: it stays so for this page only.
    }
  }

  /** The browser's own find sees only what is drawn. @param {KeyboardEvent} event */
  #pressed(event) {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "f" || event.shiftKey || event.altKey) return;
    const find = /** @type {HandrailFind | null} */ (this.querySelector("handrail-find"));
    // Pressed again, it is the browser's.
    if (!find || find.contains(document.activeElement)) return;
    event.preventDefault();
    find.open();
  }

  /** @param {string} words */
  #say(words) {
    clearTimeout(this.#hiding);
    fill(
      this.#toast,
      h("span", null, words),
      h(
        "button",
        { class: "icon-button", "aria-label": "Dismiss", onclick: () => (this.#toast.hidden = true) },
        icon("cross"),
      ),
    );
    this.#toast.hidden = false;
    this.#hiding = setTimeout(() => (this.#toast.hidden = true), SAID_MS);
  }

  /** @param {string} words */
  #showTrouble(words) {
    if (!words || this.#model.state.value) return void (words && this.#say(words));
    fill(
      this,
      h(
        "div",
        { class: "empty" },
        h("h1", null, "This session cannot be shown"),
        h("p", null, words),
        h("a", { class: "button", href: "/sessions" }, "All sessions"),
      ),
    );
  }
}

function isFolded() {
  try {
    // On a narrow screen they would be all there is to see.
    return localStorage.getItem(FOLDED) === "yes" || innerWidth < 1000;
  } catch {
    return false;
  }
}

customElements.define("handrail-session", HandrailSession);
