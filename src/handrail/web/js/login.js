/**
 * Signing in with a one-time code. The code comes in the fragment of the login link, which never reaches a server's
 * log; it is taken out of the address bar before anything else happens.
 */

/** @import { Api } from "./api.js" */

import { inWords } from "./api.js";
import { h, HandrailElement, fill } from "./dom.js";
import { icon } from "./icons.js";

const FRAGMENT = /^#login=([\w-]+)$/;

/** The code in the address bar, which is cleared of it. @returns {string | null} */
export function takeCode() {
  const code = FRAGMENT.exec(location.hash)?.[1] ?? null;
  if (location.hash.startsWith("#login=")) history.replaceState(null, "", location.pathname);
  return code;
}

/** @param {Api} api @param {string} code */
export async function signIn(api, code) {
  await api.post("/api/login", { code });
}

/** What a person sees who is not signed in. */
export class HandrailLogin extends HandrailElement {
  /** What went wrong with the link, if something did. */
  trouble = "";
  /** Called once the hub knows us. @type {() => void} */
  signedIn = () => {};

  /** @override */
  render() {
    const field = h("input", {
      name: "code",
      autocomplete: "off",
      spellcheck: "false",
      required: true,
      "aria-describedby": "login-help",
      placeholder: "http://…/#login=…",
    });
    const problem = h("p", { class: "problem", role: "alert" }, this.trouble && [icon("alert"), " ", this.trouble]);
    problem.hidden = !this.trouble;
    const button = h("button", { class: "primary" }, "Sign in");
    const submit = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      void this.#submit(field.value, button, problem);
    };
    fill(
      this,
      h(
        "main",
        { class: "login" },
        h("img", { src: "/web/icons/icon.svg", alt: "", width: 48, height: 48 }),
        h("h1", null, "Handrail"),
        h(
          "p",
          { id: "login-help" },
          "Open the link that ",
          h("code", null, "handrail serve"),
          " printed. It works once, for five minutes. For a new one, run ",
          h("code", null, "handrail login"),
          " on the machine where the hub runs.",
        ),
        problem,
        h("form", { class: "login-form", onsubmit: submit }, h("label", null, "Login link or code", field), button),
      ),
    );
  }

  /** @param {string} text @param {HTMLButtonElement} button @param {HTMLElement} problem */
  async #submit(text, button, problem) {
    button.disabled = true;
    button.textContent = "Signing in…";
    try {
      await signIn(this.page.api, codeIn(text));
      this.signedIn();
    } catch (error) {
      fill(problem, icon("alert"), " ", inWords(error));
      problem.hidden = false;
      button.disabled = false;
      button.textContent = "Sign in";
    }
  }
}

/** The code of a pasted link, or what was pasted. @param {string} text */
function codeIn(text) {
  return text.trim().replace(/^.*#login=/, "");
}

customElements.define("handrail-login", HandrailLogin);
