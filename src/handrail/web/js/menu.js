/**
 * A button with a menu: opened by click or key, walked with the arrows, closed with escape or a click elsewhere.
 */

/** @import { Child } from "./types.js" */

import { append, h } from "./dom.js";
import { icon } from "./icons.js";

/**
 * @typedef {object} MenuItem
 * @property {string} words
 * @property {string} [hint] a second line: what it does
 * @property {boolean} [current] for a menu in which one is chosen
 * @property {boolean} [danger]
 * @property {() => void} run
 */

/**
 * @param {object} how
 * @param {Child[]} how.label
 * @param {MenuItem[] | (() => MenuItem[])} how.items asked for whenever the menu opens, if it is a function
 * @param {string} [how.class]
 * @param {string} [how.name] what the button is called, if its label is an icon
 * @param {boolean} [how.disabled]
 * @returns {HTMLButtonElement}
 */
export function menuButton({ label, items, class: kind, name, disabled }) {
  const button = h(
    "button",
    {
      type: "button",
      class: kind,
      disabled,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "aria-label": name,
      title: name,
      onclick: () => open(button, typeof items === "function" ? items() : items),
    },
    ...label,
  );
  return button;
}

/**
 * The menu is beside its button for as long as it is open.
 * @param {HTMLButtonElement} button @param {MenuItem[]} items
 */
function open(button, items) {
  const menu = h("div", { class: "menu", role: "menu", popover: "auto" });
  append(
    menu,
    items.map((item) => itemButton(menu, item)),
  );
  menu.addEventListener("keydown", (event) => walk(menu, event));
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState === "closed") closed(button, menu);
  });
  button.after(menu);
  button.setAttribute("aria-expanded", "true");
  menu.showPopover();
  place(button, menu);
  const first = menu.querySelector("[aria-checked=true]") ?? menu.querySelector("button");
  if (first instanceof HTMLElement) first.focus();
}

/** @param {HTMLButtonElement} button @param {HTMLElement} menu */
function closed(button, menu) {
  button.setAttribute("aria-expanded", "false");
  // Back to the button, unless the person went elsewhere meanwhile.
  const focused = document.activeElement;
  menu.remove();
  if (!focused || focused === document.body || !focused.isConnected) button.focus();
}

/** @param {HTMLElement} menu @param {MenuItem} item */
function itemButton(menu, { words, hint, current, danger, run }) {
  const run_ = () => {
    menu.hidePopover();
    run();
  };
  return h(
    "button",
    {
      type: "button",
      class: danger && "danger",
      onclick: run_,
      tabindex: "-1",
      role: current === undefined ? "menuitem" : "menuitemradio",
      "aria-checked": current === undefined ? null : String(current),
    },
    current ? icon("check") : h("span"),
    h("span", null, words),
    hint && h("span", { class: "quiet-text" }, hint),
  );
}

/** Below the button, or above it where there is more room; never outside the window. */
/** @param {HTMLElement} button @param {HTMLElement} menu */
function place(button, menu) {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = at.bottom + 4 + height <= innerHeight || at.top < innerHeight / 2;
  const top = below ? at.bottom + 4 : at.top - height - 4;
  const left = Math.min(at.left, innerWidth - width - 8);
  menu.style.setProperty("top", `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`);
  menu.style.setProperty("left", `${Math.max(8, left)}px`);
}

/** @param {HTMLElement} menu @param {KeyboardEvent} event */
function walk(menu, event) {
  const items = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("button")]);
  const here = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const steps = {
    ArrowDown: here + 1,
    ArrowUp: here - 1 + items.length,
    Home: 0,
    End: items.length - 1,
    j: here + 1,
    k: here - 1 + items.length,
  };
  const next = Reflect.get(steps, event.key);
  if (event.key === "Tab") return menu.hidePopover();
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  items[next % items.length]?.focus();
}
