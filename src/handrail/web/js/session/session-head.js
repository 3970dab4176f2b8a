/**
 * The head of a session: its title, how it stands, and what can be done with all of it.
 */

/** @import { ItemContext } from "./items.js" */

import { fill, h, HandrailElement } from "../dom.js";
import { baseName } from "../format.js";
import { icon } from "../icons.js";
import { menuButton } from "../menu.js";
import { hostChip } from "../hosts/host-chip.js";
import { isReachable, placeName } from "../hosts/words.js";
import { statusShown } from "../session-list/status.js";
import { rename, sessionMenu } from "./session-menu.js";

export class HandrailSessionHead extends HandrailElement {
  /** @type {ItemContext} */ context = /** @type {any} */ (null);
  find = () => {};
  toggleDetails = () => {};

  #title = h("h1", { class: "session-title", ondblclick: () => this.page.may("owner") && void rename(this.#around()) });
  #place = h("span", { class: "session-place quiet-text mono" });
  #status = h("span", { class: "chip session-status" });
  /** Only while the host is out of reach: else its name is enough. */
  #away = h("span", { class: "session-away" });

  /** @override */
  mount() {
    this.watch(this.context.model.state);
    this.watch(this.page.home.sessions);
    fill(
      this,
      h(
        "button",
        { class: "icon-button back", "aria-label": "Back", onclick: () => this.page.router.back("/sessions") },
        icon("arrow_left"),
      ),
      h("div", { class: "session-names" }, this.#title, this.#place),
      this.#away,
      this.#status,
      h(
        "button",
        {
          class: "icon-button find-button",
          "aria-label": "Find in this session",
          title: "Find",
          onclick: () => this.find(),
        },
        icon("search"),
      ),
      menuButton({
        label: [icon("dots")],
        name: "Session menu",
        class: "icon-button",
        items: () => sessionMenu(this.#around()),
      }),
      h(
        "button",
        {
          class: "icon-button details-button",
          "aria-label": "Details",
          title: "Details",
          "data-action": "toggle-details",
          onclick: () => this.toggleDetails(),
        },
        icon("panel"),
      ),
    );
  }

  #around() {
    const { model, commands, say } = this.context;
    return { page: this.page, commands, id: model.id, state: model.state.value, say, find: this.find };
  }

  /** @override */
  render() {
    const state = this.context.model.state.value;
    if (!state) return void (this.#status.hidden = true);
    this.#status.hidden = false;
    this.#title.textContent = state.title || "New session";
    this.#title.title = state.title;
    const away = !isReachable(state);
    this.dataset.away = String(away);
    fill(
      this.#place,
      state.host_name && h("span", { class: "session-host" }, `${placeName(state)} · `),
      [baseName(state.cwd), state.worktree].filter(Boolean).join(" · "),
    );
    this.#place.title = state.cwd;
    fill(this.#away, away && hostChip(state));
    const status = statusShown(state, this.page.home.sessions.value.get(this.context.model.id));
    this.#status.dataset.tone = status.tone;
    fill(
      this.#status,
      status.status === "running" && !away ? h("span", { class: "spinner", "aria-hidden": "true" }) : icon(status.icon),
      h("span", null, status.words),
    );
  }
}

customElements.define("handrail-session-head", HandrailSessionHead);
