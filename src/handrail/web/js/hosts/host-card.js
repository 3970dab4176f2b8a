/**
 * One machine: how it is, what runs there, and what an owner can do with it. What changes is changed in place, so that
 * whoever reads it or has opened its menu is not disturbed.
 */

/** @import { Host } from "../types.js" */
/** @import { MenuItem } from "../menu.js" */

import { fill, h, HandrailElement, reconcile } from "../dom.js";
import { ago, moment, oneLine } from "../format.js";
import { icon } from "../icons.js";
import { menuButton } from "../menu.js";
import { onHost } from "../router.js";
import { factsOf, meaningOf, sessionCounts, stateOf, troublesOf, valueOf } from "./words.js";

const DIRECTORIES = "Sessions start in";

export class HostCard extends HandrailElement {
  /** What is done with it, by whoever shows the card. @type {{ drain(on: boolean): void, revoke(): void } | null} */
  acts = null;

  /** @type {Host | null} */ #host = null;
  #name = h("h2");
  #state = h("span", { class: "chip host-state" });
  #marks = h("span", { class: "host-marks" });
  #start = h("a", { class: "button quiet" }, icon("plus"), "New session");
  #menu = menuButton({ label: [icon("dots")], class: "icon-button", items: () => this.#items() });
  #notes = h("div", { class: "host-notes", role: "status" });
  #sessions = h("a");
  #facts = h("dl", { class: "host-facts" });
  /** What is shown, by part. @type {Map<string, string>} */
  #shown = new Map();

  get host() {
    return this.#host;
  }

  /** @param {Host | null} host */
  set host(host) {
    this.#host = host;
    if (this.isConnected) this.render();
  }

  /** @override */
  mount() {
    this.setAttribute("role", "article");
    fill(
      this,
      h(
        "header",
        null,
        icon("server"),
        this.#name,
        this.#state,
        this.#marks,
        h("span", { class: "spacer" }),
        this.#start,
        this.#menu,
      ),
      this.#notes,
      this.#facts,
    );
    this.#shown.clear();
  }

  /** @override */
  render() {
    const host = this.#host;
    if (!host) return;
    Object.assign(this.dataset, { host: valueOf(host), state: host.state });
    this.setAttribute("aria-label", host.name);
    this.#name.textContent = host.name;
    this.#start.href = onHost("/new", host.id);
    this.#start.hidden = !this.acts || host.state !== "connected";
    this.#start.setAttribute("aria-label", `New session on ${host.name}`);
    this.#menu.hidden = !this.acts || host.is_hub || host.state === "revoked";
    this.#menu.setAttribute("aria-label", `More about ${host.name}`);
    this.#part("state", host.state, () => this.#showState(host));
    this.#part("marks", JSON.stringify(host.facts.labels), () => this.#showMarks(host));
    const notes = [...troublesOf(host), meaningOf(host)];
    this.#part("notes", JSON.stringify(notes), () => this.#showNotes(host));
    this.#showFacts(host);
  }

  /** Make a part anew if what it shows is other now. @param {string} name @param {string} shape @param {() => void} show */
  #part(name, shape, show) {
    if (this.#shown.get(name) === shape) return;
    this.#shown.set(name, shape);
    show();
  }

  /** @param {Host} host */
  #showState({ state }) {
    const { words, tone, icon: sign } = stateOf(state);
    this.#state.dataset.tone = tone;
    fill(this.#state, icon(sign), words);
  }

  /** @param {Host} host */
  #showMarks({ is_hub: isHub, facts }) {
    fill(
      this.#marks,
      isHub && h("span", { class: "chip" }, "this hub"),
      facts.labels.map((label) => h("span", { class: "chip" }, oneLine(label))),
    );
  }

  /** @param {Host} host */
  #showNotes(host) {
    const meaning = meaningOf(host);
    fill(
      this.#notes,
      troublesOf(host).map((words) => h("p", { class: "problem" }, icon("alert"), " ", words)),
      meaning && h("p", { class: "quiet-text" }, meaning),
    );
  }

  /** @param {Host} host */
  #showFacts(host) {
    const facts = [["Sessions", sessionCounts(host)], ...factsOf(host), ...times(host), ...this.#directories(host)];
    reconcile(this.#facts, /** @type {[string, string, string?][]} */ (facts), {
      key: ([name]) => name,
      make: ([name]) =>
        h(
          "div",
          { class: name === DIRECTORIES && "wide" },
          h("dt", null, name),
          h("dd", { class: classOf(name) }, name === "Sessions" && this.#sessions),
        ),
      update: (line, [name, words, title = ""]) => {
        const place = /** @type {HTMLElement} */ (name === "Sessions" ? this.#sessions : line.lastElementChild);
        if (place.textContent !== words) place.textContent = words;
        if (place.title !== title) place.title = title;
      },
    });
    this.#sessions.href = onHost("/sessions", valueOf(host));
    this.#sessions.setAttribute("aria-label", `Sessions on ${host.name}: ${sessionCounts(host)}`);
  }

  /** @param {Host} host @returns {[string, string][]} */
  #directories({ facts }) {
    return facts.roots.length > 0 ? [[DIRECTORIES, facts.roots.map(oneLine).join(", ")]] : [];
  }

  /** @returns {MenuItem[]} */
  #items() {
    const draining = this.#host?.state === "draining" || this.#host?.facts.draining;
    return [
      draining
        ? { words: "Take new sessions again", run: () => this.acts?.drain(false) }
        : { words: "Drain", hint: "No new sessions; those that run go on", run: () => this.acts?.drain(true) },
      { words: "Revoke…", hint: "Its key opens nothing any more", danger: true, run: () => this.acts?.revoke() },
    ];
  }
}

/** @param {Host} host @returns {[string, string, string][]} */
function times({ state, since, last_seen_at: seen, is_hub: isHub }) {
  if (state === "away") return seen === null ? [] : [["Last seen", ago(seen), moment(seen)]];
  if (since === null) return [];
  const what = isHub ? "Started" : state === "revoked" ? "Revoked" : "Connected";
  return [[what, ago(since), moment(since)]];
}

/** @param {string} name */
function classOf(name) {
  if (name === DIRECTORIES) return "mono";
  return ["Claude Code", "Probe", "System", "Handrail"].includes(name) ? "" : "num";
}

customElements.define("handrail-host-card", HostCard);
