/**
 * Permission modes in words, and the switches for mode and model.
 */

/** @import { MenuItem } from "../menu.js" */
/** @import { PageContext } from "../page.js" */
/** @import { Commands } from "./commands.js" */
/** @import { SessionModel } from "./model.js" */

import { inWords } from "../api.js";
import { fill, h } from "../dom.js";
import { modelName } from "../format.js";
import { icon } from "../icons.js";
import { menuButton } from "../menu.js";
import { confirmThen } from "./dialogs.js";

/** @typedef {{ mode: string, words: string, hint: string, danger?: boolean }} Mode */

/** @type {readonly Mode[]} */
export const MODES = [
  { mode: "default", words: "Ask", hint: "Asks before it changes or runs anything" },
  { mode: "acceptEdits", words: "Accept edits", hint: "Edits files of the project without asking" },
  { mode: "plan", words: "Plan", hint: "Looks and plans, changes nothing" },
  { mode: "auto", words: "Auto", hint: "Claude Code decides what is safe" },
  { mode: "dontAsk", words: "Don't ask", hint: "What no rule allows is denied" },
  { mode: "bypassPermissions", words: "Bypass", hint: "Does everything without asking", danger: true },
];

/** @param {string | null | undefined} mode */
export function modeWords(mode) {
  return MODES.find((each) => each.mode === mode)?.words ?? (mode || "Ask");
}

/**
 * @typedef {object} Around
 * @property {PageContext} page
 * @property {Commands} commands
 * @property {SessionModel} model
 * @property {(words: string) => void} say
 */

/**
 * The switches; `show` brings them up to date.
 * @param {Around} around
 */
export function switches(around) {
  const mode = h("span", { class: "switch-words" });
  const model = h("span", { class: "switch-words" });
  /** @type {MenuItem[]} */
  let models = [];
  const modeButton = menuButton({
    label: [mode, icon("chevron")],
    name: "Permission mode",
    class: "quiet switch mode-switch",
    items: () => modeItems(around),
  });
  const modelButton = menuButton({
    label: [model, icon("chevron")],
    name: "Model",
    class: "quiet switch model-switch",
    items: () => models,
  });
  // Asked for when a person comes near, so that the menu opens at once and whole.
  const load = async () => (models = await modelItems(around));
  for (const event of ["pointerenter", "focus"]) modelButton.addEventListener(event, () => void load());
  function show() {
    const state = around.model.state.value;
    const owner = around.page.may("owner");
    modeButton.disabled = modelButton.disabled = !owner;
    modeButton.dataset.mode = state?.mode ?? "default";
    fill(mode, modeWords(state?.mode));
    fill(model, modelName(state?.model) || "Model");
  }
  void load();
  return { element: h("div", { class: "switches" }, modeButton, modelButton), show };
}

/** @param {Around} around @returns {MenuItem[]} */
function modeItems(around) {
  const current = around.model.state.value?.mode || "default";
  return MODES.map(({ mode, words, hint, danger }) => ({
    words,
    hint,
    danger,
    current: mode === current,
    run: () => void (danger ? bypass(around, mode) : trying(around, () => around.commands.setMode(mode))),
  }));
}

/** @param {Around} around @param {string} mode */
function bypass({ commands }, mode) {
  return confirmThen({
    title: "Let Claude do everything without asking?",
    body: [
      h(
        "p",
        null,
        "Commands, edits and network access will run without a question until you choose another mode. Rules that deny still do.",
      ),
    ],
    action: "Bypass permissions",
    danger: true,
    run: () => commands.setMode(mode),
  });
}

/** @param {Around} around @returns {Promise<MenuItem[]>} */
async function modelItems(around) {
  const { page, model, commands } = around;
  /** The CLI only says so with its next answer. @param {string} value */
  const switchTo = async (value) => {
    await commands.setModel(value);
    if (model.state.value) model.state.set({ ...model.state.value, model: value });
  };
  try {
    const { items } = await page.api.get("/api/models", { query: { session: model.id } });
    return items.map((/** @type {{ value: string, name: string, description: string }} */ each) => ({
      words: each.name,
      hint: each.description,
      current: each.value === model.state.value?.model,
      run: () => void trying(around, () => switchTo(each.value)),
    }));
  } catch (error) {
    return [{ words: "The models could not be loaded", hint: inWords(error), run: () => {} }];
  }
}

/** @param {Around} around @param {() => Promise<unknown>} act */
async function trying({ say }, act) {
  try {
    await act();
  } catch (error) {
    say(inWords(error));
  }
}
