/**
 * The keyboard. One table says which keys there are and what they mean; whoever is on the page says what they do.
 */

import { h } from "./dom.js";

/**
 * @typedef {"inbox" | "sessions" | "new" | "search" | "down" | "up" | "open" | "next_ask"
 *   | "allow" | "deny" | "always" | "edit" | "interrupt" | "help"} KeyName
 */
/** @typedef {{ name: KeyName, keys: string[], words: string, group: string, repeats?: boolean }} Key */

/** `g s` is one key after the other. @type {readonly Key[]} */
export const KEYS = [
  { name: "inbox", keys: ["i"], words: "Inbox", group: "Go to" },
  { name: "sessions", keys: ["g s"], words: "Sessions", group: "Go to" },
  { name: "new", keys: ["n"], words: "New session", group: "Go to" },
  { name: "search", keys: ["/"], words: "Search", group: "Go to" },
  { name: "down", keys: ["j"], words: "Next", group: "Move", repeats: true },
  { name: "up", keys: ["k"], words: "Previous", group: "Move", repeats: true },
  { name: "open", keys: ["enter"], words: "Open", group: "Move" },
  { name: "next_ask", keys: ["g a"], words: "Next ask of this session", group: "Move" },
  { name: "allow", keys: ["a"], words: "Allow, approve or send", group: "Answer" },
  { name: "deny", keys: ["d"], words: "Deny", group: "Answer" },
  { name: "always", keys: ["w"], words: "Always allow: the menu", group: "Answer" },
  { name: "edit", keys: ["e"], words: "Edit, then allow", group: "Answer" },
  { name: "interrupt", keys: ["escape"], words: "Interrupt Claude (asks once)", group: "Session" },
  { name: "help", keys: ["?"], words: "This list", group: "Session" },
];

const SEQUENCE_MS = 1000;

export class Keys {
  /** The newest comes first. @type {Map<KeyName, (() => boolean | void)[]>} */
  #handlers = new Map();
  #first = "";
  #firstAt = 0;

  constructor() {
    document.addEventListener("keydown", (event) => this.#pressed(event));
    this.on("help", () => showHelp());
  }

  /**
   * Say what a key does. The newest handler that does not return false has it. Returns what takes it back.
   * @param {KeyName} name
   * @param {() => boolean | void} handler
   * @returns {() => void}
   */
  on(name, handler) {
    const handlers = this.#handlers.get(name) ?? [];
    this.#handlers.set(name, [handler, ...handlers]);
    return () => {
      const left = (this.#handlers.get(name) ?? []).filter((each) => each !== handler);
      this.#handlers.set(name, left);
    };
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
    const pressed = event.key.toLowerCase();
    const pair = event.timeStamp - this.#firstAt < SEQUENCE_MS ? `${this.#first} ${pressed}` : "";
    const key = KEYS.find(({ keys }) => pair && keys.includes(pair)) ?? KEYS.find(({ keys }) => keys.includes(pressed));
    this.#first = pressed;
    this.#firstAt = event.timeStamp;
    if (!key || (event.repeat && !key.repeats)) return;
    if (this.#run(key.name)) event.preventDefault();
  }

  /** @param {KeyName} name */
  #run(name) {
    return (this.#handlers.get(name) ?? []).some((handler) => handler() !== false);
  }
}

/** Whether the key belongs to what has the focus: a person who types is never taken at their word for a command. */
/** @param {KeyboardEvent} event */
function isTaken(event) {
  if (event.isComposing || document.querySelector("dialog:modal")) return true;
  const focused = event.target;
  if (!(focused instanceof HTMLElement)) return false;
  if (isTyping(focused)) return true;
  const activates = event.key === "Enter" && focused.closest("button, a[href], summary, [role=menuitem], input");
  return Boolean(activates) || Boolean(focused.closest("[role=menu]"));
}

/** @param {HTMLElement} element */
export function isTyping(element) {
  if (element.isContentEditable || element instanceof HTMLTextAreaElement) return true;
  if (element instanceof HTMLSelectElement) return true;
  return (
    element instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit", "range"].includes(element.type)
  );
}

/** How a key is written on the page. @param {KeyName} name */
export function keyLabel(name) {
  return KEYS.find((key) => key.name === name)?.keys[0] ?? "";
}

/** The key's hint beside a button's words. @param {KeyName} name */
export function keyHint(name) {
  return h("kbd", { "aria-hidden": "true" }, keyLabel(name));
}

/** The list of keys, over the page. */
export function showHelp() {
  const groups = [...new Set(KEYS.map(({ group }) => group))];
  const dialog = h(
    "dialog",
    { class: "sheet help", "aria-labelledby": "help-title" },
    h(
      "form",
      { method: "dialog", class: "sheet-head" },
      h("h2", { id: "help-title" }, "Keys"),
      h("button", { class: "quiet" }, "Close"),
    ),
    groups.map((group) =>
      h(
        "section",
        null,
        h("h3", null, group),
        h(
          "dl",
          { class: "keys" },
          KEYS.filter((key) => key.group === group).map(({ keys: [first = ""], words }) => [
            h(
              "dt",
              null,
              first.split(" ").map((each, index) => [index ? " then " : "", h("kbd", null, each)]),
            ),
            h("dd", null, words),
          ]),
        ),
      ),
    ),
    h("p", { class: "quiet-text" }, "Keys do nothing while you type."),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
