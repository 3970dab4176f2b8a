/** The keyboard: which key does what, and when a key is not for us. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Element, Input, makePage, Select, TextArea, WEB } from "./support.mjs";

makePage();
const { isTyping, keyLabel, Keys, KEYS } = await import(new URL("keys.js", WEB).href);

let document, keys, at;

beforeEach(() => {
  ({ document } = makePage());
  keys = new Keys();
  at = 5_000;
});

/** Press a key. Returns whether the page took it. */
function press(key, { target = new Element(), after = 200, ...more } = {}) {
  at += after;
  const event = new Event("keydown", { cancelable: true });
  for (const [name, value] of Object.entries({ key, target, timeStamp: at, repeat: false, ...more }))
    Object.defineProperty(event, name, { value });
  document.dispatchEvent(event);
  return event.defaultPrevented;
}

function count(name, result) {
  const pressed = { times: 0 };
  keys.on(name, () => {
    pressed.times += 1;
    return result;
  });
  return pressed;
}

test("every key is in the table once, and none begins a pair", () => {
  const all = KEYS.flatMap((key) => key.keys);
  assert.equal(new Set(all).size, all.length);
  const beginnings = all.filter((key) => key.includes(" ")).map((key) => key.split(" ")[0]);
  assert.deepEqual(beginnings.filter((key) => all.includes(key)), []);
  assert.equal(keyLabel("sessions"), "g s");
});

test("a key does what was said, and the browser is kept out of it", () => {
  const allow = count("allow");
  assert.equal(press("a"), true);
  assert.equal(press("A"), true);
  assert.equal(press("x"), false);
  assert.equal(allow.times, 2);
});

test("a key that nobody wants is left to the browser", () => {
  assert.equal(press("a"), false);
  count("allow", false);
  assert.equal(press("a"), false);
});

test("the newest handler has it, unless it passes it on or was taken back", () => {
  const old = count("deny");
  const passing = count("deny", false);
  press("d");
  assert.deepEqual([old.times, passing.times], [1, 1]);
  const takeBack = keys.on("deny", () => {});
  press("d");
  assert.deepEqual([old.times, passing.times], [1, 1]);
  takeBack();
  press("d");
  assert.deepEqual([old.times, passing.times], [2, 2]);
});

test("one key after the other is a key of its own, if they come soon enough", () => {
  const sessions = count("sessions");
  const ask = count("next_ask");
  const allow = count("allow");
  press("g");
  press("s");
  press("g");
  press("a");
  assert.deepEqual([sessions.times, ask.times, allow.times], [1, 1, 0]);
  press("g");
  press("a", { after: 1_500 });
  assert.deepEqual([sessions.times, ask.times, allow.times], [1, 1, 1]);
});

test("a key that is held down moves on, and answers nothing", () => {
  const [down, allow] = [count("down"), count("allow")];
  for (const key of ["j", "a"]) press(key, { repeat: true });
  assert.deepEqual([down.times, allow.times], [1, 0]);
});

for (const [what, how] of Object.entries({
  "with a modifier": { ctrlKey: true },
  "with the command key": { metaKey: true },
  "with the option key": { altKey: true },
  "in the middle of composing a character": { isComposing: true },
  "in a text field": { target: new Input() },
  "in a text area": { target: new TextArea() },
  "in a list of choices": { target: new Select() },
  "in editable text": { target: Object.assign(new Element(), { isContentEditable: true }) },
  "in a menu": { target: new Element("[role=menu]") },
})) {
  test(`a key ${what} is not for us`, () => {
    const allow = count("allow");
    assert.equal(press("a", how), false);
    assert.equal(allow.times, 0);
  });
}

test("a key that somebody else took is not taken again", () => {
  ({ document } = makePage());
  document.addEventListener("keydown", (event) => event.preventDefault());
  keys = new Keys();
  const allow = count("allow");
  press("a");
  assert.equal(allow.times, 0);
});

test("nothing behind an open dialog hears a key", () => {
  const allow = count("allow");
  document.querySelector = (selector) => (selector === "dialog:modal" ? new Element() : null);
  press("a");
  assert.equal(allow.times, 0);
});

test("Enter presses the button that has the focus, and opens what is chosen elsewhere", () => {
  const open = count("open");
  assert.equal(press("Enter", { target: new Element("button") }), false);
  assert.equal(press("Enter"), true);
  assert.equal(open.times, 1);
});

test("a tick box is no text field", () => {
  assert.equal(isTyping(Object.assign(new Input(), { type: "checkbox" })), false);
  assert.equal(isTyping(Object.assign(new Input(), { type: "search" })), true);
});
