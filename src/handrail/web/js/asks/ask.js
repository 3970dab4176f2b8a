/**
 * An ask, in full: who asks, what exactly would happen, why, what to notice, and the answers. After the answer it says
 * who gave it, when, from where, and what it changed.
 */

/** @import { Answer, AskKind, Card } from "../types.js" */
/** @import { Act, AskPanel } from "./panel.js" */

import { fill, h, HandrailElement, make } from "../dom.js";
import { awayWords, placeName } from "../hosts/words.js";
import { icon } from "../icons.js";
import { closedLine } from "./closed.js";
import { HandrailForm } from "./form.js";
import { askHead, isOpen, kindIcon, tick } from "./head.js";
import { draftName } from "./panel.js";
import { HandrailPermission } from "./permission.js";
import { HandrailPlan } from "./plan.js";
import { HandrailQuestions } from "./questions.js";
import { HandrailDialog, HandrailTwoWays } from "./two-ways.js";
import { planShown } from "./plan-document.js";
import { askBody, inOneLine } from "./what.js";
import { questionsShown } from "./question-summary.js";

/** @type {Record<AskKind, new () => AskPanel>} */
const PANELS = {
  permission: HandrailPermission,
  plan: HandrailPlan,
  enter_plan: HandrailTwoWays,
  question: HandrailQuestions,
  elicitation: HandrailForm,
  dialog: HandrailDialog,
  budget: HandrailTwoWays,
};

const TICK_SECONDS = 5;

export class HandrailAsk extends HandrailElement {
  /** Whether the session is known from where the card is shown. */
  inSession = false;
  /** Whether it sticks to the bottom of a session: the answers stay in view, the rest scrolls. */
  pinned = false;
  /** "1 of 3", in a stack. */
  place = "";

  #titleId = `ask-${crypto.randomUUID()}`;
  /** @type {Card | null} */
  #card = null;
  #collapsed = false;
  #shown = "";
  /** @type {AskPanel | null} */
  #panel = null;
  #frame = h("article", { class: "ask", "aria-labelledby": this.#titleId });
  #status = h("div", { class: "ask-status", role: "status" });
  /** Changed in place: a host that comes or goes takes nobody's focus away. */
  #away = h("p", { class: "ask-note ask-away", role: "status", hidden: true });

  get card() {
    return this.#card;
  }

  /** The same ask again keeps what the person has typed. @param {Card | null} card */
  set card(card) {
    this.#card = card;
    this.update();
  }

  get collapsed() {
    return this.#collapsed;
  }

  /** Shown as one line; still the same card. @param {boolean} collapsed */
  set collapsed(collapsed) {
    if (collapsed === this.#collapsed) return;
    this.#collapsed = collapsed;
    this.update();
  }

  /** Whether somebody can answer it, and is not just doing so. */
  get isAnswerable() {
    return Boolean(
      this.#card &&
      isOpen(this.#card) &&
      this.page.may("approver") &&
      this.page.answering.attempt(this.#card)?.state !== "sending",
    );
  }

  /** @override */
  mount() {
    this.append(this.#frame);
    this.watch(this.page.answering.attempts, () => this.#showStatus());
    this.watch(this.page.live.me);
    this.listen(this, "answer", (event) => void this.#answer(event.detail));
    this.every(TICK_SECONDS, () => this.#card && tick(this, this.#card));
  }

  /** Do what a key says. @param {Act} act */
  act(act) {
    if (!this.isAnswerable) return false;
    if (this.#collapsed) {
      this.collapsed = false;
      return true; // Nothing is answered that is not in view.
    }
    return this.#panel?.act(act) ?? false;
  }

  /** @param {{ answer: Answer, words: string }} given */
  async #answer({ answer, words }) {
    const card = this.#card;
    if (!card || !isOpen(card)) return;
    // The answer may take this card off the page.
    const { answering, drafts } = this.page;
    const taken = await answering.answer(card, answer, words);
    if (!taken) return;
    drafts.drop(draftName(card));
    this.dispatchEvent(new CustomEvent("answered", { bubbles: true, detail: { card } }));
  }

  // ---------------------------------------------------------------- showing

  /** @override */
  render() {
    const card = this.#card;
    if (!card) return;
    Object.assign(this.dataset, {
      ask: card.ask_id,
      session: card.session,
      kind: card.kind,
      state: card.state,
      risk: card.risk ?? "low",
    });
    this.classList.toggle("pinned", this.pinned);
    const shape = JSON.stringify([
      card.digest,
      card.state,
      card.closed,
      card.title,
      card.host_name,
      this.#collapsed && card.host_state,
      this.#collapsed,
      this.place,
      this.page.live.me.value?.role,
    ]);
    this.#showAway(card);
    if (shape === this.#shown) return;
    this.#shown = shape;
    this.#frame.dataset.open = String(isOpen(card));
    fill(this.#frame, this.#collapsed ? this.#oneLine(card) : this.#whole(card));
    this.#showStatus();
  }

  /** @param {Card} card */
  #whole(card) {
    const head = askHead(card, { inSession: this.inSession, titleId: this.#titleId, place: this.place });
    if (!isOpen(card)) return [head, h("div", { class: "ask-body" }, whatItWas(card)), closedLine(card)];
    if (!this.page.may("approver"))
      return [head, this.#away, lostNote(card), h("div", { class: "ask-body" }, whatItWas(card)), notForViewers()];
    // The panel outlives the buttons around it, and with it what was typed.
    if (this.#panel?.card.digest !== card.digest) this.#panel = make(PANELS[card.kind] ?? HandrailPermission, { card });
    this.#panel.card = card;
    return [head, this.#away, lostNote(card), this.#panel, this.#status];
  }

  /** @param {Card} card */
  #showAway(card) {
    const words = isOpen(card) ? awayWords(card, "The ask stays open: answer it when it is back.") : "";
    this.#away.hidden = !words;
    if (this.#away.dataset.words === words) return;
    this.#away.dataset.words = words;
    fill(this.#away, icon(card.host_state === "revoked" ? "lock" : "clock"), h("span", null, words));
  }

  /** @param {Card} card */
  #oneLine(card) {
    const open = isOpen(card);
    return [
      h(
        "button",
        {
          class: "ask-one-line",
          type: "button",
          "aria-expanded": "false",
          onclick: () => this.dispatchEvent(new CustomEvent("expand", { bubbles: true })),
        },
        kindIcon(card),
        h(
          "span",
          { class: "ask-one-words" },
          h("span", { class: "ask-title", id: this.#titleId }, card.title),
          h("span", { class: "ask-one-what mono" }, inOneLine(card)),
          h("span", { class: "quiet-text" }, [placeName(card), card.session_title].filter(Boolean).join(" · ")),
        ),
        open && h("span", { class: "ask-waited quiet-text num" }, icon("clock"), " ", h("span")),
        open && h("span", { class: "ask-verb" }, VERBS[card.kind] ?? "Look"),
      ),
      !open && closedLine(card),
    ];
  }

  #showStatus() {
    const card = this.#card;
    if (!card) return;
    tick(this, card);
    const attempt = this.page.answering.attempt(card);
    const sending = attempt?.state === "sending";
    this.dataset.sending = String(sending);
    this.#panel?.toggleAttribute("inert", sending);
    if (!attempt) return this.#status.replaceChildren();
    if (sending)
      return fill(this.#status, h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " ", attempt.words));
    fill(
      this.#status,
      h(
        "p",
        { class: "problem", role: "alert" },
        icon("alert"),
        " ",
        attempt.words,
        " ",
        h("button", { class: "link", type: "button", onclick: () => this.page.answering.dismiss(card) }, "Dismiss"),
      ),
    );
  }
}

/** @type {Record<AskKind, string>} */
const VERBS = {
  permission: "Decide",
  plan: "Review",
  enter_plan: "Decide",
  question: "Answer",
  elicitation: "Fill in",
  dialog: "Reply",
  budget: "Decide",
};

/** The ask without its answers. @param {Card} card */
function whatItWas(card) {
  const { what } = card;
  if (what.type === "plan") return [planShown(what), askBody(card)];
  if (what.type === "questions") return [questionsShown(what), askBody(card)];
  return [what.type === "form" && h("p", null, what.message), askBody(card)];
}

function notForViewers() {
  return h(
    "p",
    { class: "ask-note quiet-text" },
    icon("lock"),
    " You can look at this, but not answer it: your token is a viewer's. An approver's or an owner's can.",
  );
}

/** @param {Card} card */
function lostNote(card) {
  if (!card.resumes && card.state !== "lost") return null;
  return h(
    "p",
    { class: "ask-note" },
    icon("undo"),
    " ",
    card.note ? sentence(card.note) : "The process ended; answering will resume it.",
  );
}

/** @param {string} words */
function sentence(words) {
  return words.charAt(0).toUpperCase() + words.slice(1) + (words.endsWith(".") ? "" : ".");
}

customElements.define("handrail-ask", HandrailAsk);
