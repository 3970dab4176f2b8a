/**
 * A login link for another device, as text and as a code that a phone's camera reads.
 */

import { fill, h, HandrailElement } from "../dom.js";
import { clock, now } from "../format.js";
import { icon } from "../icons.js";
import { copyButton } from "../session/actions.js";
import { actButton } from "./parts.js";

/** @type {[string, string][]} */
export const ROLES = [
  ["owner", "Owner: everything"],
  ["approver", "Approver: looks, answers as asked, writes"],
  ["viewer", "Viewer: only looks"],
];

export class HandrailInvite extends HandrailElement {
  #role = h(
    "select",
    { "aria-label": "What the device may do" },
    ROLES.map(([role, words]) => h("option", { value: role }, words)),
  );
  #name = h("input", {
    type: "text",
    maxlength: "60",
    placeholder: "Name, such as phone",
    "aria-label": "Name of the device",
  });
  #shown = h("div", { class: "invite-shown" });
  #left = h("span", { class: "num" });
  /** @type {{ link: string, qr_svg?: string, expires_at?: number } | null} */ #login = null;

  /** @override */
  mount() {
    fill(
      this,
      h(
        "div",
        { class: "invite-form" },
        this.#name,
        this.#role,
        actButton({ label: [icon("link"), "Make a link"], doing: "Making a link…", run: () => this.#make() }),
      ),
      this.#shown,
    );
    this.every(1, () => this.#tick());
  }

  async #make() {
    // The answer is a secret: it is kept nowhere, so this is no call that can be tried again.
    this.#login = await this.page.api.post(
      "/api/logins",
      { role: this.#role.value, name: this.#name.value.trim() },
      { key: null },
    );
    this.render();
  }

  /** @override */
  render() {
    const login = this.#login;
    if (!login) return this.#shown.replaceChildren();
    const isLocal = /^https?:\/\/(localhost|127\.|\[::1\])/.test(login.link);
    fill(
      this.#shown,
      login.qr_svg &&
        h("img", {
          class: "qr",
          alt: "The link as a QR code",
          src: `data:image/svg+xml;utf8,${encodeURIComponent(withNamespace(login.qr_svg))}`,
        }),
      h(
        "div",
        null,
        h("p", { class: "mono link-text" }, login.link),
        copyButton(login.link),
        h("p", { class: "quiet-text" }, "Good once, for ", this.#left, ". Whoever opens it is signed in."),
        isLocal &&
          h(
            "p",
            { class: "quiet-text" },
            "This address is reached from this machine only. For a phone, put the hub behind a tunnel or a proxy with TLS.",
          ),
      ),
    );
    this.#tick();
  }

  #tick() {
    if (!this.#login) return;
    const left = (this.#login.expires_at ?? now() + 300) - now();
    if (left > 0) return void (this.#left.textContent = clock(left));
    this.#login = null;
    fill(this.#shown, h("p", { class: "quiet-text" }, "The link has expired. Make another one."));
  }
}

/** An image of its own needs the namespace that SVG inside a page does not. @param {string} svg */
function withNamespace(svg) {
  return svg.includes("xmlns=") ? svg : svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"');
}

customElements.define("handrail-invite", HandrailInvite);
