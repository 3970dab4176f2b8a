/**
 * The machine on which something runs, as a small mark beside it.
 */

/** @import { Where } from "../types.js" */

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { awayWords, isReachable, placeName } from "./words.js";

/** @param {Where} where */
export function hostChip(where) {
  const here = isReachable(where);
  return h(
    "span",
    {
      class: "chip host-chip",
      dataset: { state: where.host_state },
      title: here ? `Runs on ${where.host_name}` : awayWords(where),
    },
    icon(here ? "server" : where.host_state === "revoked" ? "lock" : "clock"),
    h("span", { class: "host-name" }, placeName(where)),
  );
}
