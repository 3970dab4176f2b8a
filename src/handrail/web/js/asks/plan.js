/**
 * Reviewing a plan: comments become the feedback, the document can be edited, and the button that approves says what
 * happens next.
 */

/** @import { Answer, PlanChoice, PlanWhat } from "../types.js" */
/** @import { Act } from "./panel.js" */

import { fill, h } from "../dom.js";
import { counted } from "../format.js";
import { icon } from "../icons.js";
import { keyHint } from "../keys.js";
import { menuButton } from "../menu.js";
import { approvals, describe, edited, isBypass } from "./plan-choices.js";
import { blocksOf, Comments, planDocument } from "./plan-document.js";
import { PlanLeave } from "./plan-leave.js";
import { AskPanel } from "./panel.js";
import { focusSoon, reasonForm } from "./reason.js";
import { askBody } from "./what.js";

export class HandrailPlan extends AskPanel {
  #document = h("div", { class: "ask-body" });
  /** @type {PlanLeave | null} */
  #leave = null;
  #answers = h("div", { class: "ask-answers" });
  /** @type {Comments} */
  #comments = new Comments([], () => {});
  /** @type {PlanChoice | null} */
  #chosen = null;
  /** The editor, while the plan is being edited. @type {HTMLTextAreaElement | null} */
  #editor = null;
  /** @type {HTMLButtonElement | null} */
  #menu = null;

  /** @override */
  build() {
    this.#comments = new Comments(this.page.drafts.get(this.draftName) ?? [], () => this.#commented());
    this.#chosen = this.#choices.find(({ id }) => id === "accept-edits") ?? this.#choices[0] ?? null;
    this.#leave = new PlanLeave(this.card, this.may("owner"));
    this.#showDocument();
    this.#offer();
    fill(this, this.#document, this.#answers);
  }

  /** @override @param {Act} act */
  act(act) {
    if (act === "allow") this.#approve();
    else if (act === "deny") this.#reject();
    else if (act === "edit" && this.#canEdit) this.#edit();
    else if (act === "always" && this.#menu) this.#menu.click();
    else return false;
    return true;
  }

  get #what() {
    return /** @type {PlanWhat} */ (this.card.what);
  }

  /** The ways to approve that this person has. */
  get #choices() {
    return approvals(this.card).filter((choice) => this.may("owner") || !isBypass(choice));
  }

  get #canEdit() {
    return this.may("owner") && Boolean(this.#what.text);
  }

  // ---------------------------------------------------------------- the document

  #showDocument() {
    this.#editor = null;
    const shown = this.#what.text
      ? planDocument(this.#what, this.#comments)
      : h("p", null, "There is no plan to read: Claude only asks to leave plan mode.");
    fill(this.#document, shown, this.#leave?.element, askBody(this.card));
  }

  #edit() {
    if (this.#editor) return;
    const editor = h(
      "textarea",
      { class: "mono plan-editor", "aria-label": "The plan, in Markdown", spellcheck: "true", rows: 20 },
      this.#what.text,
    );
    editor.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.#stopEditing();
    });
    this.#editor = editor;
    fill(
      this.#document,
      editor,
      h("p", { class: "quiet-text" }, "What you approve is the text as it stands here."),
      this.#leave?.element,
    );
    this.#offer();
    focusSoon(editor);
  }

  #stopEditing() {
    this.#showDocument();
    this.#offer();
  }

  // ---------------------------------------------------------------- the answers

  #offer() {
    this.#answers.classList.remove("asking-more");
    const count = this.#comments.texts.size;
    fill(
      this.#answers,
      h(
        "div",
        { class: "split allow" },
        h(
          "button",
          {
            class: ["primary", this.#chosen && isBypass(this.#chosen) && "danger"],
            type: "button",
            dataset: { act: "allow" },
            onclick: () => this.#approve(),
          },
          icon("check"),
          this.#approveWords(),
          keyHint("allow"),
        ),
        (this.#menu = this.#choicesButton()),
      ),
      h(
        "div",
        { class: "ask-more" },
        h(
          "button",
          {
            type: "button",
            dataset: { act: "revise" },
            class: count ? "commented" : null,
            onclick: () => this.#askRevision(),
          },
          icon("comment"),
          count ? `Revise · ${counted(count, "comment")}` : "Revise…",
        ),
        this.#editor
          ? h("button", { type: "button", onclick: () => this.#stopEditing() }, "Stop editing")
          : this.#canEdit &&
              h(
                "button",
                { type: "button", dataset: { act: "edit" }, onclick: () => this.#edit() },
                icon("edit"),
                "Edit",
                keyHint("edit"),
              ),
        this.#has("outline") &&
          h(
            "button",
            {
              class: "quiet",
              type: "button",
              dataset: { act: "outline" },
              onclick: () => this.answer({ type: "outline_plan" }, "Asking for an outline…"),
            },
            "Outline first",
          ),
      ),
      h(
        "div",
        { class: "ask-deny" },
        h(
          "button",
          { class: "deny", type: "button", dataset: { act: "deny" }, onclick: () => this.#reject() },
          icon("cross"),
          "Reject",
          keyHint("deny"),
        ),
      ),
    );
  }

  #approveWords() {
    const words = this.#chosen ? describe(this.#chosen).words : "go on";
    return `Approve${this.#editor ? " my version" : ""} · ${words}`;
  }

  #choicesButton() {
    if (this.#choices.length < 2) return null;
    const items = () =>
      this.#choices.map((choice) => ({
        ...describe(choice),
        words: `Approve · ${describe(choice).words}`,
        current: choice.id === this.#chosen?.id,
        danger: isBypass(choice),
        run: () => this.#choose(choice),
      }));
    const button = menuButton({
      label: [icon("chevron")],
      items,
      class: "primary",
      name: "What happens after approval",
    });
    button.dataset.act = "choices";
    return button;
  }

  /** @param {PlanChoice} choice */
  #choose(choice) {
    this.#chosen = choice;
    this.#offer();
    this.#answers.querySelector("button")?.focus();
  }

  /** @param {string} id */
  #has(id) {
    return (this.card.plan_choices ?? []).some((choice) => choice.id === id);
  }

  #approve() {
    if (!this.#chosen) return;
    const plan = this.#editor && this.#editor.value !== this.#what.text ? this.#editor.value : null;
    const leaves = this.#leave?.given ?? [];
    /** @type {Answer} */
    const answer = plan === null ? this.#chosen.answer : edited(this.card, this.#chosen, plan);
    this.answer({ ...answer, ...(leaves.length && { allow_prompts: leaves }) }, "Approving the plan…");
  }

  #askRevision() {
    this.#answers.classList.add("asking-more");
    fill(
      this.#answers,
      reasonForm({
        label: this.#comments.texts.size ? "Anything else? Your comments go with it." : "What should change?",
        act: "Send back to planning",
        needed: !this.#comments.texts.size,
        run: (words) => this.#revise(words),
        back: () => this.#offer(),
      }),
    );
  }

  /** @param {string} words */
  #revise(words) {
    const feedback = [this.#comments.feedback(blocksOf(this.#what)), words].filter(Boolean).join("\n\n");
    this.answer({ type: "revise_plan", feedback }, "Sending your comments…");
  }

  #reject() {
    this.#answers.classList.add("asking-more");
    fill(
      this.#answers,
      reasonForm({
        label: "Tell Claude why the plan is rejected (may stay empty)",
        act: "Reject the plan",
        stop: "Reject and stop the turn",
        run: (message, interrupt) =>
          this.answer(
            { type: "reject_plan", ...(message && { message }), ...(interrupt && { interrupt }) },
            "Rejecting…",
          ),
        back: () => this.#offer(),
      }),
    );
  }

  #commented() {
    this.page.drafts.set(this.draftName, [...this.#comments.texts]);
    this.#offer();
  }
}

customElements.define("handrail-plan", HandrailPlan);
