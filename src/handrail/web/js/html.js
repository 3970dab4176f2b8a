/**
 * The only way for markup to enter the page: HTML that the hub rendered and sanitised, through one Trusted Types
 * policy. Everything else is made with `h()` in dom.js, where text can only be text.
 */

/** The one script that is loaded by address. */
const SERVICE_WORKER = "/service-worker.js";

/** @typedef {{ createHTML(text: string): string, createScriptURL(text: string): string }} Policy */

/** @type {Policy} */
const rules = {
  createHTML: (text) => text,
  createScriptURL: (url) => {
    if (url !== SERVICE_WORKER) throw new TypeError(`no script is loaded from ${url}`);
    return url;
  },
};

/** @type {{ createPolicy(name: string, rules: Policy): Policy } | undefined} */
const trustedTypes = Reflect.get(globalThis, "trustedTypes");
const policy = trustedTypes ? trustedTypes.createPolicy("handrail", rules) : rules;

/**
 * Fill `element` with `html`, which must come from a field of the API that ends in `html`.
 * Links leave the page in a tab of their own, so that no text of Claude's can navigate this one.
 * @template {Element} E
 * @param {E} element
 * @param {string} html
 * @returns {E}
 */
export function setHtml(element, html) {
  element.innerHTML = policy.createHTML(html);
  for (const link of element.querySelectorAll("a[href]")) {
    link.setAttribute("target", "_blank");
    link.setAttribute("rel", "noopener noreferrer nofollow");
  }
  return element;
}

/** The address of the service worker, as `register` wants it. */
export function serviceWorkerUrl() {
  return policy.createScriptURL(SERVICE_WORKER);
}
