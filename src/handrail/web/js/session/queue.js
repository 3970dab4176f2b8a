/**
 * Messages that wait for their turn, above the composer: each can be taken back, or done at once.
 */

/** @import { Queued } from "../types.js" */
/** @import { ItemContext } from "./items.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, reconcile } from "../dom.js";
import { icon } from "../icons.js";

export class HandrailQueue extends HandrailElement {
  /** @type {ItemContext} */ context = /** @type {any} */ (null);
  /** Given the text of a message that was taken back. @type {(text: string) => void} */
  takenBack = () => {};

  /** @override */
  mount() {
    this.setAttribute("role", "list");
    this.setAttribute("aria-label", "Messages that wait");
    this.watch(this.context.model.state);
  }

  /** @override */
  render() {
    const queued = this.context.model.state.value?.queued ?? [];
    this.hidden = queued.length === 0;
    reconcile(this, queued, {
      key: (message) => message.uuid,
      make: (message) =>
        h(
          "div",
          { role: "listitem", class: "queued" },
          h("span", { class: "chip" }, icon("clock"), "Queued"),
          h("span", { class: "queued-text" }),
          this.context.may("approver") && this.#buttons(message),
        ),
      update: (line, message) => fill(/** @type {Element} */ (line.querySelector(".queued-text")), message.text),
    });
  }

  /** @param {Queued} message */
  #buttons(message) {
    const { commands } = this.context;
    const running = Boolean(this.context.model.state.value?.run);
    return h(
      "div",
      { class: "queued-buttons" },
      running &&
        h(
          "button",
          {
            class: "quiet",
            title: "Interrupts Claude, then this runs next",
            "data-action": "send-now",
            onclick: (/** @type {Event} */ event) => this.#act(event, () => commands.sendNow(message.uuid)),
          },
          icon("send"),
          "Now",
        ),
      h(
        "button",
        {
          class: "icon-button",
          "aria-label": "Take this message back",
          "data-action": "cancel-message",
          onclick: (/** @type {Event} */ event) =>
            this.#act(event, async () => {
              await commands.cancel(message.uuid);
              this.takenBack(message.text);
            }),
        },
        icon("cross"),
      ),
    );
  }

  /** @param {Event} event @param {() => Promise<unknown>} act */
  async #act(event, act) {
    const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
    button.disabled = true;
    try {
      await act();
    } catch (error) {
      this.context.say(inWords(error));
    }
    button.disabled = false;
  }
}

customElements.define("handrail-queue", HandrailQueue);
