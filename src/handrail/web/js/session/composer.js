/**
 * Where a person writes to Claude. What is typed is kept until it has been sent, over a reload too.
 */

/** @import { ItemContext } from "./items.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, make } from "../dom.js";
import { clock, now } from "../format.js";
import { awayWords, isReachable } from "../hosts/words.js";
import { icon } from "../icons.js";
import { filesIn, HandrailAttachments } from "./attachments.js";
import { HandrailCompletions } from "./completions.js";
import { meters } from "./meters.js";
import { switches } from "./modes.js";
import { HandrailQueue } from "./queue.js";

/** Under a finger, enter is a new line, and a button sends. */
const hasKeyboard = () => !matchMedia("(pointer: coarse)").matches;
/** How long a first press of escape counts. */
const SURE_MS = 2500;

export class HandrailComposer extends HandrailElement {
  /** @type {ItemContext} */ context = /** @type {any} */ (null);

  #field = h("textarea", {
    rows: "1",
    "aria-label": "Message to Claude",
    placeholder: "Message Claude…",
    "data-hook": "composer",
  });
  #attachments = make(HandrailAttachments, { changed: () => this.update() });
  #completions = make(HandrailCompletions);
  #status = h("div", { class: "composer-status", role: "status" });
  #trouble = h("p", { class: "problem", role: "alert", hidden: true });
  #send = h("button", { type: "submit", class: "primary icon-button send", "aria-label": "Send" }, icon("send"));
  #stop = h("button", {
    type: "button",
    class: "interrupt",
    "data-action": "interrupt",
    "aria-label": "Interrupt Claude",
    onclick: () => this.interrupt(),
  });
  #picker = h("input", {
    type: "file",
    accept: "image/png,image/jpeg,image/gif,image/webp",
    multiple: true,
    hidden: true,
    "aria-label": "Images",
  });
  #attach = h(
    "button",
    {
      type: "button",
      class: "icon-button",
      "aria-label": "Add images",
      title: "Add images",
      onclick: () => this.#picker.click(),
    },
    icon("plus"),
  );
  /** @type {ReturnType<typeof switches> | null} */
  #switches = null;
  /** @type {ReturnType<typeof meters> | null} */
  #meters = null;
  #sending = false;
  /** Whether Enter was pressed once more while a message was on its way. */
  #sendsNext = false;
  /** When interrupting was asked for once. */
  #askedAt = -Infinity;

  /** @override */
  mount() {
    const { model, commands, say } = this.context;
    Object.assign(this.#completions, { field: this.#field, commands });
    this.#switches = switches({ page: this.page, commands, model, say });
    this.#meters = meters(this.context);
    const box = h(
      "form",
      { class: "composer-box" },
      this.#attachments,
      this.#field,
      h(
        "div",
        { class: "composer-row" },
        this.#attach,
        this.#switches.element,
        h("span", { class: "spacer" }),
        this.#meters.element,
        this.#stop,
        this.#send,
      ),
    );
    fill(
      this,
      this.#status,
      make(HandrailQueue, { context: this.context, takenBack: (text) => this.#putBack(text) }),
      this.#trouble,
      h("div", { class: "composer-frame" }, this.#completions, box),
      this.#picker,
    );
    this.#listen(box);
    this.#field.value = String(this.page.drafts.get(this.#draftName) ?? "");
    this.watch(model.state);
    this.watch(this.page.live.me);
    this.watch(this.page.home.sessions);
    this.hold(this.page.keys.on("interrupt", () => !isClosingSomething() && this.interrupt()));
    this.every(1, () => this.#showStatus());
  }

  get #draftName() {
    return `message.${this.context.model.id}`;
  }

  /** @param {HTMLFormElement} box */
  #listen(box) {
    this.listen(box, "submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.listen(this.#field, "keydown", (event) => this.#pressed(event));
    this.listen(this.#field, "input", () => this.#typed());
    this.listen(this.#field, "paste", (event) => this.#given(event, event.clipboardData));
    this.listen(this.#picker, "change", () => {
      this.#attachments.add(this.#picker.files ?? []);
      this.#picker.value = "";
    });
    const session = this.closest("handrail-session") ?? this;
    this.listen(session, "dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
    this.listen(session, "drop", (event) => this.#given(event, event.dataTransfer));
  }

  /**
   * Files that were pasted or dropped; text is the browser's business.
   * @param {Event} event
   * @param {DataTransfer | null} data
   */
  #given(event, data) {
    const files = filesIn(data);
    if (files.length === 0) return;
    event.preventDefault();
    this.#attachments.add(files);
  }

  /** @override */
  render() {
    const state = this.context.model.state.value;
    const may = this.context.may("approver") && state?.host_state !== "revoked";
    this.#field.disabled = this.#attach.disabled = !may;
    this.#field.placeholder = placeholder(this.context.may("approver"), state);
    this.#send.disabled = this.#sending || !may || !(this.#field.value.trim() || this.#attachments.count);
    this.#stop.hidden = !state?.run || !may;
    this.#switches?.show();
    this.#meters?.show();
    this.#showStatus();
  }

  #showStatus() {
    const state = this.context.model.state.value;
    const sure = performance.now() - this.#askedAt < SURE_MS;
    this.#stop.dataset.sure = String(sure);
    fill(
      this.#stop,
      icon("stop"),
      h("span", null, sure ? "Press again to interrupt" : "Interrupt"),
      !sure && h("kbd", { "aria-hidden": "true" }, "esc"),
    );
    const sending = this.#sending && !state?.run;
    const words = sending ? sendingWords(state) : statusWords(state, this.#waitsForItsCli);
    if (this.#status.dataset.words !== words) {
      this.#status.dataset.words = words;
      fill(
        this.#status,
        this.#sign(sending),
        h("span", null, words),
        h("span", { class: "num", "aria-hidden": "true" }),
      );
    }
    this.#status.hidden = !words;
    this.#status.toggleAttribute("data-away", !isReachable(state));
    const time = this.#status.lastElementChild;
    // How long it has run is not known while its host is away.
    if (time) time.textContent = state?.run && isReachable(state) ? clock(now() - state.run.started_at) : "";
  }

  /** @param {boolean} sending */
  #sign(sending) {
    const state = this.context.model.state.value;
    if (!sending && !isReachable(state)) return icon(state?.host_state === "revoked" ? "lock" : "clock");
    if (!sending && this.#waitsForItsCli) return icon("plug");
    if (state?.status === "needs_you") return icon("bell");
    return (state?.run || sending) && h("span", { class: "spinner", "aria-hidden": "true" });
  }

  get #waitsForItsCli() {
    return this.page.home.sessions.value.get(this.context.model.id)?.status === "waiting";
  }

  #typed() {
    this.page.drafts.set(this.#draftName, this.#field.value);
    this.#trouble.hidden = true;
    this.update();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.isComposing || this.#completions.pressed(event)) return;
    if (event.key === "Enter" && !event.shiftKey && hasKeyboard()) {
      event.preventDefault();
      void this.#submit();
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (!this.interrupt()) this.#field.blur();
    }
  }

  async #submit() {
    const text = this.#field.value.trim();
    if (this.#field.disabled || (!text && this.#attachments.count === 0)) return;
    if (this.#sending) return void (this.#sendsNext = true);
    this.#sending = true;
    this.#sendsNext = false;
    // What is typed meanwhile is the next message; resuming a session may take a while.
    this.#field.value = "";
    this.update();
    try {
      await this.context.commands.send(text, await this.#attachments.contents());
      this.#attachments.clear();
      this.dispatchEvent(new CustomEvent("sent", { bubbles: true }));
    } catch (error) {
      this.#sendsNext = false;
      this.#field.value = [text, this.#field.value].filter(Boolean).join("\n");
      this.#trouble.textContent = `It was not sent. ${inWords(error)}`;
      this.#trouble.hidden = false;
    }
    this.page.drafts.set(this.#draftName, this.#field.value);
    this.#sending = false;
    this.update();
    if (this.#sendsNext) void this.#submit();
  }

  /** The first time it only asks; gives whether there was something to interrupt. */
  interrupt() {
    if (!this.context.model.state.value?.run || !this.context.may("approver")) return false;
    if (performance.now() - this.#askedAt > SURE_MS) {
      this.#askedAt = performance.now();
      setTimeout(() => this.update(), SURE_MS + 50);
      this.update();
      return true;
    }
    this.#askedAt = -Infinity;
    this.context.commands.interrupt().catch((error) => this.context.say(inWords(error)));
    this.update();
    return true;
  }

  /** A message that was taken back can be written anew. @param {string} text */
  #putBack(text) {
    if (!this.#field.value.trim()) this.#field.value = text;
    this.#typed();
    this.#field.focus();
  }

  /** @override */
  focus() {
    this.#field.focus();
  }
}

/** Escape also closes menus: that is not meant for Claude. */
function isClosingSomething() {
  return document.querySelector(":popover-open") !== null;
}

/** @param {boolean} may @param {import("../types.js").SessionState | null} state */
function placeholder(may, state) {
  if (!may) return "You can look at this session; writing needs an approver's token";
  const keys = hasKeyboard() ? "  ⏎ send · ⇧⏎ new line · / commands · @ files" : "";
  if (state?.host_state === "revoked") return `${state.host_name} was removed from this hub: this can only be read`;
  if (state?.host_state === "away") return `Message Claude… it can be sent when ${state.host_name} is back`;
  if (state?.run) return `Add to what Claude is doing…${keys}`;
  return `Message Claude…${keys}`;
}

/** @param {import("../types.js").SessionState | null} state */
function sendingWords(state) {
  if (state?.host_state === "away") return `Sending… ${state.host_name} is away, and is given a moment to come back.`;
  return state?.live ? "Sending…" : "Sending… Claude Code is started first.";
}

/**
 * What goes on, in words.
 * @param {import("../types.js").SessionState | null} state
 * @param {boolean} waits whether it waits for its CLI to dial in
 */
function statusWords(state, waits) {
  if (!state) return "";
  if (!isReachable(state)) return awayWords(state);
  if (waits) return "Waiting for its Claude Code, which is started elsewhere and dials in here.";
  const retry = typeof state.retry === "string" ? state.retry : "";
  if (retry) return `Trying the API again: ${retry}`;
  if (state.status === "needs_you") return "Waiting for your answer";
  if (state.compacting) return "Compacting the conversation…";
  if (state.run) return state.running[0] ? `Running: ${state.running[0].title}` : "Claude is working";
  if (!state.live) return "The process ended: send a message to go on.";
  return "";
}

customElements.define("handrail-composer", HandrailComposer);
