/**
 * Completing what is typed: slash commands at the beginning of a message, files after an `@`. The text field keeps the
 * focus; what is chosen in the list is its active descendant, so that screen readers tell what is chosen.
 */

/** @import { Commands } from "./commands.js" */

import { fill, h, HandrailElement } from "../dom.js";

/** @typedef {{ text: string, words: string, hint?: string, detail?: string }} Completion  `text` replaces what was typed */
/** @typedef {{ kind: "command" | "file", typed: string, from: number, to: number }} Token */

const SHOWN = 8;
const PAUSE_MS = 80;

export class HandrailCompletions extends HandrailElement {
  /** @type {HTMLTextAreaElement} */ field = /** @type {any} */ (null);
  /** @type {Commands} */ commands = /** @type {any} */ (null);

  /** @type {Completion[]} */
  #items = [];
  #chosen = 0;
  /** @type {Token | null} */
  #token = null;
  /** @type {AbortController | null} */
  #asking = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Promise<Completion[]> | null} */
  #slashCommands = null;
  #id = `completions-${Math.random().toString(36).slice(2)}`;

  /** @override */
  mount() {
    this.id = this.#id;
    this.setAttribute("role", "listbox");
    this.setAttribute("aria-label", "Suggestions");
    this.field.setAttribute("aria-haspopup", "listbox");
    this.field.setAttribute("aria-autocomplete", "list");
    this.field.setAttribute("aria-controls", this.#id);
    this.listen(this.field, "input", () => this.#typed());
    this.listen(this.field, "blur", () => setTimeout(() => this.close(), 150));
  }

  get isOpen() {
    return this.#items.length > 0;
  }

  close() {
    this.#asking?.abort();
    clearTimeout(this.#timer);
    this.#items = [];
    this.render();
  }

  /** Take a key that belongs to the open list; gives whether it did. @param {KeyboardEvent} event */
  pressed(event) {
    if (!this.isOpen) return false;
    const { length } = this.#items;
    if (event.key === "ArrowDown") this.#chosen = (this.#chosen + 1) % length;
    else if (event.key === "ArrowUp") this.#chosen = (this.#chosen + length - 1) % length;
    else if (event.key === "Enter" || event.key === "Tab") this.#take(this.#items[this.#chosen]);
    else if (event.key === "Escape") this.close();
    else return false;
    event.preventDefault();
    this.render();
    return true;
  }

  /** @override */
  render() {
    this.hidden = !this.isOpen;
    if (this.isOpen) this.field.setAttribute("aria-activedescendant", `${this.#id}-${this.#chosen}`);
    else this.field.removeAttribute("aria-activedescendant");
    fill(
      this,
      this.#items.map((item, index) =>
        h(
          "div",
          {
            id: `${this.#id}-${index}`,
            role: "option",
            class: "completion",
            "aria-selected": String(index === this.#chosen),
            // Before the field loses the focus.
            onmousedown: (/** @type {Event} */ event) => {
              event.preventDefault();
              this.#take(item);
            },
          },
          h("span", { class: "mono" }, item.words),
          item.hint && h("span", { class: "mono quiet-text" }, item.hint),
          item.detail && h("span", { class: "quiet-text detail" }, item.detail),
        ),
      ),
    );
    this.children[this.#chosen]?.scrollIntoView({ block: "nearest" });
  }

  #typed() {
    this.#token = tokenAt(this.field.value, this.field.selectionStart);
    clearTimeout(this.#timer);
    if (!this.#token) return this.close();
    this.#timer = setTimeout(() => void this.#ask(), this.#token.kind === "file" ? PAUSE_MS : 0);
  }

  async #ask() {
    const token = this.#token;
    if (!token) return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const items =
        token.kind === "command"
          ? await this.#commandsFor(token.typed)
          : await this.#filesFor(token.typed, asking.signal);
      if (asking.signal.aborted || this.#token !== token) return;
      this.#items = items.slice(0, SHOWN);
    } catch {
      // Nothing can be suggested; typing goes on.
      this.#items = [];
    }
    this.#chosen = 0;
    this.render();
  }

  /** @param {string} typed */
  async #commandsFor(typed) {
    this.#slashCommands ??= this.commands.slashCommands().then(({ items }) =>
      items.map(({ name, description, argument_hint: hint }) => ({
        text: `/${name} `,
        words: `/${name}`,
        hint,
        detail: description,
      })),
    );
    this.#slashCommands.catch(() => (this.#slashCommands = null));
    const wanted = typed.toLowerCase();
    const all = await this.#slashCommands;
    const begins = all.filter(({ words }) => words.slice(1).toLowerCase().startsWith(wanted));
    return [...begins, ...all.filter((each) => !begins.includes(each) && each.words.toLowerCase().includes(wanted))];
  }

  /** @param {string} typed @param {AbortSignal} signal */
  async #filesFor(typed, signal) {
    const { items } = await this.commands.files(typed, signal);
    return items.map(({ path, kind }) => {
      const isDirectory = kind === "directory";
      const shown = isDirectory && !path.endsWith("/") ? `${path}/` : path;
      // After a directory one goes on typing; after a file comes the next word.
      return { text: isDirectory ? `@${shown}` : `@${shown} `, words: shown };
    });
  }

  /** @param {Completion | undefined} item */
  #take(item) {
    const token = this.#token;
    if (!item || !token) return;
    this.field.setRangeText(item.text, token.from, token.to, "end");
    this.close();
    this.field.focus();
    // Whoever watches the field should hear of it; a directory asks for what is in it.
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/**
 * What is being typed at the cursor, if it can be completed.
 * @param {string} text
 * @param {number} cursor
 * @returns {Token | null}
 */
export function tokenAt(text, cursor) {
  const before = text.slice(0, cursor);
  const command = /^\/([\w:-]*)$/.exec(before);
  if (command) return { kind: "command", typed: command[1] ?? "", from: 0, to: cursor };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (file) return { kind: "file", typed: file[1] ?? "", from: cursor - (file[1] ?? "").length - 1, to: cursor };
  return null;
}

customElements.define("handrail-completions", HandrailCompletions);
