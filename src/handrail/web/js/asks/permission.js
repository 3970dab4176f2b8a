/**
 * A tool permission: allow, always allow, edit and allow; and, well apart, deny.
 */

/** @import { Act } from "./panel.js" */
/** @import { Json } from "../types.js" */

import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { keyHint } from "../keys.js";
import { menuButton } from "../menu.js";
import { inputEditor } from "./edit-input.js";
import { AskPanel } from "./panel.js";
import { reasonForm } from "./reason.js";
import { askBody } from "./what.js";

const DENIED = "The user denied this.";

export class HandrailPermission extends AskPanel {
  #answers = h("div", { class: "ask-answers" });
  /** @type {HTMLButtonElement | null} */
  #always = null;

  /** @override */
  build() {
    fill(this, h("div", { class: "ask-body" }, askBody(this.card)), this.#answers);
    this.#offer();
  }

  /** @override @param {Act} act */
  act(act) {
    if (act === "allow") this.#allow();
    else if (act === "deny") this.#deny("");
    else if (act === "edit" && this.#canEdit) this.#edit();
    else if (act === "always" && this.#always) this.#always.click();
    else return false;
    return true;
  }

  get #canEdit() {
    return this.may("owner") && Boolean(this.card.input);
  }

  /** The buttons. */
  #offer() {
    const owner = this.may("owner");
    const suggestions = owner ? (this.card.suggestions ?? []) : [];
    this.#always = suggestions.length ? this.#alwaysButton() : null;
    this.#answers.classList.remove("asking-more");
    fill(
      this.#answers,
      h(
        "button",
        {
          class: ["primary", "allow", this.card.risk === "high" && "danger"],
          type: "button",
          dataset: { act: "allow" },
          onclick: () => this.#allow(),
        },
        icon("check"),
        "Allow",
        keyHint("allow"),
      ),
      h(
        "div",
        { class: "ask-more" },
        this.#always,
        this.#canEdit &&
          h(
            "button",
            { type: "button", dataset: { act: "edit" }, onclick: () => this.#edit() },
            "Edit…",
            keyHint("edit"),
          ),
        !owner &&
          Boolean(this.card.suggestions?.length) &&
          h("span", { class: "quiet-text" }, "Rules and edits need an owner."),
      ),
      h(
        "div",
        { class: "ask-deny" },
        h(
          "button",
          { class: "quiet", type: "button", dataset: { act: "deny-reason" }, onclick: () => this.#askReason() },
          "Deny with a reason…",
        ),
        h(
          "button",
          { class: "deny", type: "button", dataset: { act: "deny" }, onclick: () => this.#deny("") },
          icon("cross"),
          "Deny",
          keyHint("deny"),
        ),
      ),
    );
  }

  #alwaysButton() {
    const items = () =>
      (this.card.suggestions ?? []).map(({ words, permission }) => ({
        words: sentence(words),
        hint: "and allow this one",
        run: () => this.#allow({ updated_permissions: [permission] }, "Allowing, and adding the rule…"),
      }));
    const button = menuButton({ label: ["Always…", keyHint("always"), icon("chevron")], items });
    button.dataset.act = "always";
    return button;
  }

  /** @param {{ [field: string]: Json }} [more] @param {string} [words] */
  #allow(more = {}, words = "Allowing…") {
    this.answer({ type: "allow", ...more }, words);
  }

  /** @param {string} reason @param {boolean} [interrupt] */
  #deny(reason, interrupt = false) {
    const message = reason ? `The user denied this and says: ${reason}` : DENIED;
    this.answer({ type: "deny", message, ...(interrupt && { interrupt }) }, "Denying…");
  }

  #askReason() {
    this.#answers.classList.add("asking-more");
    fill(
      this.#answers,
      reasonForm({
        label: "Tell Claude why, and what to do instead",
        act: "Deny",
        stop: "Deny and stop the turn",
        run: (reason, interrupt) => this.#deny(reason, interrupt),
        back: () => this.#offer(),
      }),
    );
  }

  #edit() {
    this.#answers.classList.add("asking-more");
    fill(
      this.#answers,
      inputEditor(this.card.input ?? {}, {
        run: (changed) => this.#allow({ updated_input: changed }, "Allowing it as you changed it…"),
        back: () => this.#offer(),
      }),
    );
  }
}

/** @param {string} words */
function sentence(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

customElements.define("handrail-permission", HandrailPermission);
