/**
 * A table whose first number has a bar, so that the largest is seen before it is read.
 */

/** @import { Child } from "../types.js" */

import { h } from "../dom.js";
import { s } from "./svg.js";

const BAR_WIDTH = 100;
const BAR_HEIGHT = 8;

/**
 * @template T
 * @param {object} how
 * @param {string} how.caption
 * @param {T[]} how.rows
 * @param {(row: T) => number} how.size         what the bar shows
 * @param {{ title: string, cell: (row: T) => Child, number?: boolean }[]} how.columns  the first one names the row
 */
export function rankTable({ caption, rows, size, columns }) {
  const most = Math.max(...rows.map(size), 0);
  const [first, ...others] = columns;
  if (!first) throw new Error("a table needs a column");
  return h(
    "div",
    { class: "table-scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      { class: "numbers ranked" },
      h("caption", { class: "visually-hidden" }, caption),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, first.title),
          h("th", { class: "bar-cell", "aria-hidden": "true" }),
          others.map(({ title, number }) => h("th", { scope: "col", class: number && "num" }, title)),
        ),
      ),
      h(
        "tbody",
        null,
        rows.map((row) =>
          h(
            "tr",
            null,
            h("th", { scope: "row" }, first.cell(row)),
            h("td", { class: "bar-cell", "aria-hidden": "true" }, bar(most > 0 ? size(row) / most : 0)),
            others.map(({ cell, number }) => h("td", { class: number && "num" }, cell(row))),
          ),
        ),
      ),
    ),
  );
}

/** @param {number} share */
function bar(share) {
  return s(
    "svg",
    { viewBox: `0 0 ${BAR_WIDTH} ${BAR_HEIGHT}`, preserveAspectRatio: "none", class: "rank-bar" },
    s("rect", { x: 0, y: 0, width: Math.max(share > 0 ? 1 : 0, share * BAR_WIDTH), height: BAR_HEIGHT, rx: 1 }),
  );
}
