/**
 * Who may come in: signed-in browsers and programs' tokens. A program's secret is shown once.
 */

import { inWords } from "../api.js";
import { fill, h, HandrailElement } from "../dom.js";
import { ago, duration, moment, now } from "../format.js";
import { icon } from "../icons.js";
import { copyButton } from "../session/actions.js";
import { confirmThen } from "../session/dialogs.js";
import { ROLES } from "./invite.js";
import { actButton } from "./parts.js";

/**
 * @typedef {{ id: string, name: string, role: string, kind: string, created_at: number, last_used_at: number | null,
 *   expires_at: number | null, revoked_at: number | null, created_by?: string, current?: boolean }} Token
 */

const DAYS = [
  ["", "until revoked"],
  ["7", "7 days"],
  ["30", "30 days"],
  ["365", "a year"],
];

export class HandrailTokens extends HandrailElement {
  /** @type {Token[] | null} */ #tokens = null;
  #trouble = "";
  #list = h("div");
  #fresh = h("div", { class: "fresh-token", role: "status" });

  /** @override */
  mount() {
    fill(this, this.#list, this.#form(), this.#fresh);
    void this.#load();
  }

  async #load() {
    try {
      this.#tokens = (await this.page.api.get("/api/tokens")).items;
      this.#trouble = "";
    } catch (error) {
      this.#trouble = inWords(error);
    }
    this.update();
  }

  #form() {
    const name = h("input", {
      type: "text",
      maxlength: "60",
      placeholder: "Name, such as ci",
      "aria-label": "Name of the token",
    });
    const role = h(
      "select",
      { "aria-label": "What it may do" },
      ROLES.toReversed().map(([value, words]) => h("option", { value }, words)),
    );
    const days = h(
      "select",
      { "aria-label": "How long it is good" },
      DAYS.map(([value, words]) => h("option", { value }, words)),
    );
    return h(
      "div",
      { class: "invite-form" },
      name,
      role,
      days,
      actButton({
        label: [icon("plus"), "New token"],
        doing: "Making…",
        run: async () => {
          if (!name.value.trim()) throw new Error("Give it a name, so that you know later what it is for.");
          const made = await this.page.api.post(
            "/api/tokens",
            { name: name.value.trim(), role: role.value, ...(days.value && { days: Number(days.value) }) },
            { key: null },
          );
          fill(
            this.#fresh,
            h("p", null, h("strong", null, "Copy it now: it is not shown again.")),
            h("code", { class: "secret" }, made.token),
            copyButton(made.token),
          );
          name.value = "";
          await this.#load();
        },
      }),
    );
  }

  /** @override */
  render() {
    if (this.#trouble) return fill(this.#list, h("p", { class: "problem" }, this.#trouble));
    if (!this.#tokens)
      return fill(this.#list, h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Loading…"));
    const good = this.#tokens
      .filter((token) => !isOver(token))
      .sort((a, b) => (b.last_used_at ?? 0) - (a.last_used_at ?? 0));
    const over = this.#tokens.filter(isOver);
    fill(
      this.#list,
      h(
        "ul",
        { class: "token-list" },
        good.map((token) => this.#entry(token)),
      ),
      over.length > 0 &&
        h(
          "details",
          null,
          h("summary", null, `${over.length} revoked or expired`),
          h(
            "ul",
            { class: "token-list" },
            over.map((token) => this.#entry(token)),
          ),
        ),
    );
  }

  /** @param {Token} token */
  #entry(token) {
    return h(
      "li",
      { "data-token": token.id },
      icon(token.kind === "browser" ? "globe" : "terminal", {
        label: token.kind === "browser" ? "Browser" : "Program",
      }),
      h(
        "div",
        { class: "token-words" },
        h(
          "span",
          null,
          h("strong", null, token.name || "unnamed"),
          " ",
          h("span", { class: "chip" }, token.role),
          token.current && h("span", { class: "chip", "data-tone": "done" }, icon("check"), "this browser"),
        ),
        h("span", { class: "quiet-text", title: `made ${moment(token.created_at)}` }, life(token)),
      ),
      !isOver(token) &&
        h(
          "button",
          { class: "quiet", "aria-label": `Revoke ${token.name}`, onclick: () => void this.#revoke(token) },
          "Revoke",
        ),
    );
  }

  /** @param {Token} token */
  #revoke(token) {
    return confirmThen({
      title: `Revoke ${token.name || "this token"}?`,
      body: [
        h(
          "p",
          null,
          token.current
            ? "It is the one that this browser uses: you are signed out at once."
            : "It is good for nothing from now on, and what it has open is closed.",
        ),
      ],
      action: "Revoke",
      danger: true,
      run: async () => {
        await this.page.api.delete(`/api/tokens/${encodeURIComponent(token.id)}`);
        await this.#load();
      },
    });
  }
}

/** @param {Token} token */
function isOver({ revoked_at: revoked, expires_at: expires }) {
  return revoked !== null || (expires !== null && expires < now());
}

/** @param {Token} token */
function life({ created_by: by, last_used_at: used, expires_at: expires, revoked_at: revoked }) {
  const parts = [used ? `used ${ago(used)}` : "never used"];
  if (revoked) parts.push(`revoked ${ago(revoked)}`);
  else if (expires) parts.push(expires > now() ? `good for ${duration(expires - now())}` : "expired");
  if (by) parts.push(`made by ${by}`);
  return parts.join(" · ");
}

customElements.define("handrail-tokens", HandrailTokens);
