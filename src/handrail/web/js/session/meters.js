/**
 * Context and cost beside the composer; the breakdown opens above them.
 */

/** @import { ItemContext } from "./items.js" */

import { inWords } from "../api.js";
import { fill, h } from "../dom.js";
import { money, percent, tokens } from "../format.js";
import { breakdown, meter } from "./context-use.js";

/** @param {ItemContext} context */
export function meters(context) {
  const words = h("span", { class: "num" });
  const bar = h("span", { class: "small-meter" });
  const sheet = h("div", {
    class: "menu meters-sheet",
    popover: "auto",
    role: "dialog",
    "aria-label": "Context and cost",
  });
  const button = h(
    "button",
    {
      type: "button",
      class: "quiet meters",
      "aria-label": "Context and cost",
      "aria-haspopup": "dialog",
      "data-action": "meters",
      onclick: () => void open(),
    },
    bar,
    words,
  );

  async function open() {
    const state = context.model.state.value;
    sheet.showPopover();
    place(button, sheet);
    fill(
      sheet,
      h("h3", null, "Context and cost"),
      costLine(context),
      h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Asking Claude Code…"),
    );
    try {
      if (!state?.live) throw new Error("The breakdown is there while the process runs.");
      const use = await context.commands.contextUse();
      fill(sheet, h("h3", null, "Context and cost"), costLine(context), breakdown(use));
    } catch (error) {
      fill(
        sheet,
        h("h3", null, "Context and cost"),
        costLine(context),
        h("p", { class: "quiet-text" }, inWords(error)),
      );
    }
    place(button, sheet);
  }

  function show() {
    const state = context.model.state.value;
    const { tokens: used = 0, window = 0 } = state?.context ?? {};
    const share = window ? used / window : 0;
    fill(bar, meter(share, "Context used"));
    bar.hidden = !window;
    fill(
      words,
      [window ? percent(share) : used ? `${tokens(used)} tokens` : "", state?.cost_usd ? money(state.cost_usd) : ""]
        .filter(Boolean)
        .join(" · "),
    );
    button.hidden = !words.textContent;
  }
  return { element: h("div", { class: "meters-place" }, button, sheet), show };
}

/** @param {ItemContext} context */
function costLine(context) {
  const state = context.model.state.value;
  return h("p", null, "This session has cost ", h("strong", { class: "num" }, money(state?.cost_usd ?? 0)), ".");
}

/** Above the button, inside the window. @param {HTMLElement} button @param {HTMLElement} sheet */
function place(button, sheet) {
  const at = button.getBoundingClientRect();
  sheet.style.left = `${Math.max(8, Math.min(at.left, innerWidth - sheet.offsetWidth - 8))}px`;
  sheet.style.top = `${Math.max(8, at.top - sheet.offsetHeight - 6)}px`;
}
