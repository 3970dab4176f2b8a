/**
 * What a person has begun to write: kept in this tab until it is sent, over a reload too.
 */

const PREFIX = "handrail.draft.";

export class Drafts {
  /** @param {string} name @returns {any} */
  get(name) {
    try {
      return JSON.parse(sessionStorage.getItem(PREFIX + name) ?? "null");
    } catch {
      return null; // Storage is switched off, or something else wrote there.
    }
  }

  /** @param {string} name @param {unknown} value */
  set(name, value) {
    try {
      sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
    } catch {
      // Full or switched off: a draft is a convenience.
    }
  }

  /** @param {string} name */
  drop(name) {
    try {
      sessionStorage.removeItem(PREFIX + name);
    } catch {
      // As above.
    }
  }
}
