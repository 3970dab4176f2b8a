/**
 * Letting another machine in: a code, the command to run there, and whether it has come.
 */

/** @import { Host } from "../types.js" */

import { fill, h, HandrailElement } from "../dom.js";
import { duration, now } from "../format.js";
import { icon } from "../icons.js";
import { actButton } from "../pages/parts.js";
import { onHost } from "../router.js";
import { copyButton } from "../session/actions.js";
import { newcomer } from "./words.js";

/** @typedef {{ code: string, expires_at: number, command: string }} Code */

export class HandrailEnrolment extends HandrailElement {
  /** Every machine that is known. @type {Host[]} */ #hosts = [];
  /** @type {Code | null} */ #code = null;
  /** What the machine is to be called. */ #wanted = "";
  /** Those that were there when the code was made. @type {Set<string>} */ #before = new Set();
  #shown = "";
  #name = h("input", {
    type: "text",
    maxlength: "60",
    placeholder: "Name, such as build-box",
    "aria-label": "Name of the machine",
    autocapitalize: "off",
    autocomplete: "off",
    spellcheck: "false",
    onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && this.querySelector("button")?.click(),
  });
  #fresh = h("div", { class: "enrolment" });
  #left = h("span", { class: "num" });
  #arrival = h("p", { class: "enrolment-arrival", role: "status" });

  /** Whether a code is out that was not used yet. */
  get isWaiting() {
    return Boolean(this.#code && this.#code.expires_at > now() && this.#newcomer?.state !== "connected");
  }

  get #newcomer() {
    return this.#code && newcomer(this.#hosts, this.#before, this.#wanted);
  }

  /** @param {Host[]} hosts */
  set hosts(hosts) {
    this.#hosts = hosts;
    this.update();
  }

  /** @override */
  mount() {
    fill(
      this,
      h(
        "div",
        { class: "invite-form" },
        this.#name,
        actButton({ label: [icon("plus"), "Enrol"], doing: "Making a code…", run: () => this.#make() }),
      ),
      this.#fresh,
    );
    this.every(1, () => this.#tick());
  }

  async #make() {
    const name = this.#name.value.trim();
    this.#code = await this.page.api.post("/api/hosts/enrolments", name ? { name } : {}, { key: null });
    this.#wanted = name;
    this.#before = new Set(this.#hosts.map(({ id }) => id));
    this.#shown = "";
    this.update();
  }

  /** @override */
  render() {
    const come = this.#newcomer;
    const over = !come && this.#code !== null && this.#code.expires_at <= now();
    const shape = JSON.stringify([this.#code?.code, come?.id, come?.state, over]);
    if (shape === this.#shown) return;
    this.#shown = shape;
    this.#fresh.dataset.state = come ? "come" : over ? "over" : "waiting";
    if (!this.#code) return this.#fresh.replaceChildren();
    if (come) return this.#showArrival(come);
    if (over) return fill(this.#fresh, h("p", { role: "status" }, "The code was not used in time. Make another one."));
    this.#showCommand(this.#code);
  }

  /** @param {Code} code */
  #showCommand({ command }) {
    fill(
      this.#fresh,
      h(
        "p",
        null,
        h("strong", null, "Run this on that machine."),
        " It needs Handrail and Claude Code there; the code works once.",
      ),
      h("div", { class: "command-line" }, h("code", { class: "secret" }, command), copyButton(command)),
      h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Waiting for it, ", this.#left, " left"),
    );
    this.#tick();
  }

  /** It was let in; a moment later it is connected. @param {Host} host */
  #showArrival(host) {
    const here = host.state === "connected";
    fill(
      this.#fresh,
      this.#arrival,
      here && h("a", { class: "button", href: onHost("/new", host.id) }, icon("plus"), `New session on ${host.name}`),
    );
    fill(
      this.#arrival,
      here
        ? [icon("check"), ` ${host.name} is here.`]
        : [h("span", { class: "spinner" }), ` ${host.name} was let in, and is connecting…`],
    );
    this.#name.value = "";
  }

  #tick() {
    if (!this.#code || this.#fresh.dataset.state !== "waiting") return;
    if (this.#code.expires_at <= now()) return this.render();
    this.#left.textContent = duration(this.#code.expires_at - now());
  }
}

customElements.define("handrail-enrolment", HandrailEnrolment);
