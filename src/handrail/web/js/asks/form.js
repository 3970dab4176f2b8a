/**
 * What an MCP server wants to know: a form, or an address that a person is to open.
 */

/** @import { Child, FormField, FormWhat, Json } from "../types.js" */
/** @import { Act } from "./panel.js" */

import { fill, h } from "../dom.js";
import { setHtml } from "../html.js";
import { icon } from "../icons.js";
import { keyHint } from "../keys.js";
import { formField } from "./form-field.js";
import { AskPanel } from "./panel.js";
import { exactText, labelled } from "./what.js";

/** @typedef {{ field: FormField, element: HTMLElement, read(): Json | undefined }} Reader */

export class HandrailForm extends AskPanel {
  /** @type {Reader[]} */
  #readers = [];
  #form = h("form", { class: "ask-form" });
  #problem = h("p", { class: "problem", role: "alert" });

  /** @override */
  build() {
    const { what } = this;
    this.#readers = (what.form_fields ?? []).map((field) => formField(field, this.card.ask_id));
    this.#problem.hidden = true;
    fill(
      this.#form,
      this.#readers.map(({ element }) => element),
      this.#problem,
    );
    this.#form.onsubmit = (event) => (event.preventDefault(), this.#send());
    fill(
      this,
      h(
        "div",
        { class: "ask-body" },
        labelled("MCP server", what.server),
        message(what),
        what.url && address(what),
        this.#form,
      ),
      h(
        "div",
        { class: "ask-answers" },
        h(
          "button",
          { class: "primary allow", type: "button", dataset: { act: "allow" }, onclick: () => this.#send() },
          icon("check"),
          what.url ? "I have opened it" : "Send",
          keyHint("allow"),
        ),
        h(
          "div",
          { class: "ask-more" },
          h(
            "button",
            {
              class: "quiet",
              type: "button",
              dataset: { act: "cancel" },
              onclick: () => this.answer({ type: "elicited", action: "cancel" }, "Cancelling…"),
            },
            "Cancel",
          ),
        ),
        h(
          "div",
          { class: "ask-deny" },
          h(
            "button",
            { class: "deny", type: "button", dataset: { act: "deny" }, onclick: () => this.act("deny") },
            icon("cross"),
            "Decline",
            keyHint("deny"),
          ),
        ),
      ),
    );
  }

  /** @override @param {Act} act */
  act(act) {
    if (act === "allow") this.#send();
    else if (act === "deny") this.answer({ type: "elicited", action: "decline" }, "Declining…");
    else return false;
    return true;
  }

  get what() {
    return /** @type {FormWhat} */ (this.card.what);
  }

  #send() {
    if (this.what.url) return this.answer({ type: "elicited", action: "accept" }, "Telling the server…");
    try {
      const content = Object.fromEntries(
        this.#readers.map(({ field, read }) => [field.name, read()]).filter(([, value]) => value !== undefined),
      );
      this.#problem.hidden = true;
      this.answer({ type: "elicited", action: "accept", content }, "Sending…");
    } catch (error) {
      fill(this.#problem, icon("alert"), " ", error instanceof Error ? error.message : String(error));
      this.#problem.hidden = false;
    }
  }
}

/** @param {FormWhat} what @returns {Child} */
function message(what) {
  if (what.message_html) return setHtml(h("div", { class: "form-message" }), what.message_html);
  return what.message && h("p", { class: "form-message" }, what.message);
}

/** The whole address, to be read before it is opened. @param {FormWhat} what */
function address(what) {
  const safe = /^https?:\/\//i.test(what.url ?? "");
  return [
    exactText("Address", what.url_html, what.url ?? ""),
    safe &&
      h(
        "p",
        null,
        h(
          "a",
          { href: what.url, target: "_blank", rel: "noopener noreferrer", class: "button" },
          icon("globe"),
          "Open the address",
        ),
      ),
  ];
}

customElements.define("handrail-form", HandrailForm);
