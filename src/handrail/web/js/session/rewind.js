/**
 * Putting files back to how they were before a message: what that would change is shown first.
 */

/** @import { PromptRow } from "../types.js" */
/** @import { Commands, Rewound } from "./commands.js" */

import { inWords } from "../api.js";
import { fill, h } from "../dom.js";
import { counted } from "../format.js";
import { shown } from "./dialogs.js";

/** @param {PromptRow} row @param {Commands} commands @param {(words: string) => void} say */
export async function rewindTo(row, commands, say) {
  const body = h(
    "div",
    { class: "rewind-body", role: "status" },
    h("span", { class: "spinner" }),
    " Looking at what would change…",
  );
  const go = h("button", { class: "primary danger", disabled: true, "data-action": "rewind" }, "Rewind files");
  const close = h("button", { class: "quiet", onclick: () => dialog.close() }, "Cancel");
  const dialog = h(
    "dialog",
    { class: "sheet rewind", "aria-labelledby": "rewind-title" },
    h("h2", { id: "rewind-title" }, "Rewind files to before this message"),
    h("blockquote", { class: "rewind-message" }, row.text),
    body,
    h("div", { class: "confirm-buttons" }, go, close),
  );
  const closed = shown(dialog);
  try {
    const dry = await commands.rewind(row.uuid ?? "", true);
    showDryRun(body, go, dry);
    go.addEventListener("click", () => void rewind(row, commands, dry, { go, close, body, say }));
  } catch (error) {
    fill(body, h("p", { class: "problem" }, inWords(error)));
  }
  return closed;
}

/** @param {HTMLElement} body @param {HTMLButtonElement} go @param {Rewound} dry */
function showDryRun(body, go, dry) {
  const files = dry.files_changed ?? [];
  if (!dry.can_rewind)
    return fill(body, h("p", { class: "problem" }, dry.error || "Claude Code cannot rewind to there."));
  if (files.length === 0) return fill(body, h("p", null, "The files are as they were then: nothing would change."));
  fill(
    body,
    h(
      "p",
      null,
      `${counted(files.length, "file")} would change back `,
      lineCounts(dry),
      ". The conversation stays as it is.",
    ),
    h(
      "ul",
      { class: "file-list mono" },
      files.map((file) => h("li", null, file)),
    ),
  );
  go.disabled = false;
}

/** @param {Rewound} dry */
function lineCounts({ insertions, deletions }) {
  if (insertions === null || insertions === undefined) return null;
  return h(
    "span",
    { class: "num" },
    "(",
    h("span", { class: "plus" }, `+${insertions}`),
    " ",
    h("span", { class: "minus" }, `−${deletions ?? 0}`),
    " lines)",
  );
}

/**
 * @param {PromptRow} row @param {Commands} commands @param {Rewound} dry what would change, as it was said before
 * @param {{ go: HTMLButtonElement, close: HTMLButtonElement, body: HTMLElement, say: (words: string) => void }} parts
 */
async function rewind(row, commands, dry, { go, close, body, say }) {
  go.disabled = true;
  fill(go, h("span", { class: "spinner" }), "Rewinding…");
  try {
    const done = await commands.rewind(row.uuid ?? "", false);
    if (!done.can_rewind) throw new Error(done.error || "Claude Code did not rewind.");
    // Afterwards Claude Code does not say which files those were.
    const count = done.files_changed?.length || dry.files_changed?.length || 0;
    fill(body, h("p", { class: "done-note" }, `Done: ${counted(count, "file")} changed back.`));
    fill(close, "Close");
    go.hidden = true;
    say("Files were rewound.");
  } catch (error) {
    fill(body, h("p", { class: "problem" }, inWords(error)));
    fill(go, "Rewind files");
  }
}
