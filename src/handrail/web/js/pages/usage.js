/**
 * What sessions have cost and used: by day, by model, by session.
 */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, make } from "../dom.js";
import { counted, modelName, money, tokens } from "../format.js";
import { HandrailDayBars } from "../plots/day-bars.js";
import { rankTable } from "../plots/rank-table.js";
import { daysBetween } from "../plots/scale.js";
import { sessionPath } from "../router.js";
import { choices } from "./parts.js";

/**
 * @typedef {object} Used
 * @property {string} [day] @property {string} [model] @property {string} [session_id] @property {string} [title]
 * @property {number} input_tokens @property {number} output_tokens
 * @property {number} cache_read_tokens @property {number} cache_write_tokens
 * @property {number} cost_usd @property {number} runs
 */
/** @typedef {"cost" | "tokens"} Measure */

const RANGES = [7, 30, 90];
/** More series than this cannot be told apart: the rest is one. */
const SERIES = 4;
const SESSIONS_SHOWN = 15;

/** @type {{ name: string, field: "cache_read_tokens" | "cache_write_tokens" | "input_tokens" | "output_tokens" }[]} */
const KINDS = [
  { name: "cache read", field: "cache_read_tokens" },
  { name: "cache write", field: "cache_write_tokens" },
  { name: "input", field: "input_tokens" },
  { name: "output", field: "output_tokens" },
];

export class HandrailUsage extends HandrailElement {
  #days = 30;
  /** @type {Measure} */ #measure = "cost";
  /** @type {{ since: number, day: Used[], model: Used[], session: Used[] } | null} */ #used = null;
  #trouble = "";
  #body = h("div", { class: "page-body" });

  /** @override */
  mount() {
    fill(
      this,
      h(
        "header",
        { class: "page-head" },
        h("h1", null, "Usage"),
        choices(
          "Days",
          RANGES.map((days) => ({ value: days, words: `${days} days` })),
          this.#days,
          (days) => void this.#load(days),
        ),
        choices(
          "Measure",
          [
            { value: "cost", words: "Cost" },
            { value: "tokens", words: "Tokens" },
          ],
          this.#measure,
          (measure) => {
            this.#measure = /** @type {Measure} */ (measure);
            this.render();
          },
        ),
      ),
      this.#body,
    );
    void this.#load(this.#days);
  }

  /** @param {number} days */
  async #load(days) {
    this.#days = days;
    this.#trouble = "";
    try {
      const get = (/** @type {string} */ by) => this.page.api.get("/api/usage", { query: { days, by } });
      const [day, model, session] = await Promise.all([get("day"), get("model"), get("session")]);
      if (this.#days !== days) return;
      this.#used = { since: day.since, day: day.items, model: model.items, session: session.items };
    } catch (error) {
      this.#trouble = inWords(error);
    }
    this.update();
  }

  /** @override */
  render() {
    const used = this.#used;
    if (this.#trouble) return fill(this.#body, h("p", { class: "problem" }, this.#trouble));
    if (!used) return fill(this.#body, h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Adding up…"));
    if (used.day.length === 0) return fill(this.#body, this.#empty());
    fill(
      this.#body,
      totals(used.day),
      this.#byDay(used),
      h("section", null, h("h2", null, "By model"), this.#byModel(used.model)),
      h("section", null, h("h2", null, "By session"), this.#bySession(used.session)),
      h(
        "p",
        { class: "quiet-text" },
        "Costs are Claude Code's own estimates. With a subscription nothing is billed per token.",
      ),
    );
  }

  #empty() {
    return h(
      "div",
      { class: "empty" },
      h("h2", null, `Nothing was used in ${this.#days} days`),
      h("p", null, "Once a run is over, its tokens and costs are counted here."),
      h("a", { class: "button", href: "/new" }, "New session"),
    );
  }

  /** @param {{ since: number, day: Used[] }} used */
  #byDay({ since, day }) {
    const isCost = this.#measure === "cost";
    const title = isCost ? "Cost per day" : "Tokens per day";
    return h(
      "section",
      null,
      h("h2", null, title),
      make(HandrailDayBars, {
        title_: title,
        days: daysBetween(new Date(since * 1000), new Date()),
        series: isCost ? costSeries(day) : tokenSeries(day),
        words: isCost ? money : tokens,
      }),
    );
  }

  /** @param {Used[]} rows */
  #byModel(rows) {
    return rankTable({
      caption: "Usage by model",
      rows: this.#sorted(rows),
      size: (row) => this.#size(row),
      columns: [{ title: "Model", cell: (row) => modelName(row.model) || "unknown" }, ...NUMBERS],
    });
  }

  /** @param {Used[]} rows */
  #bySession(rows) {
    const sorted = this.#sorted(rows);
    return [
      rankTable({
        caption: "Usage by session",
        rows: sorted.slice(0, SESSIONS_SHOWN),
        size: (row) => this.#size(row),
        columns: [{ title: "Session", cell: sessionLink }, ...NUMBERS],
      }),
      sorted.length > SESSIONS_SHOWN &&
        h("p", { class: "quiet-text" }, `and ${counted(sorted.length - SESSIONS_SHOWN, "session")} more`),
    ];
  }

  /** @param {Used[]} rows */
  #sorted(rows) {
    return [...rows].sort((a, b) => this.#size(b) - this.#size(a));
  }

  /** @param {Used} row */
  #size(row) {
    return this.#measure === "cost" ? row.cost_usd : allTokens(row);
  }
}

/** @type {{ title: string, number: boolean, cell: (row: Used) => string }[]} */
const NUMBERS = [
  { title: "Cost", number: true, cell: (row) => money(row.cost_usd) },
  { title: "Input", number: true, cell: (row) => tokens(row.input_tokens) },
  { title: "Output", number: true, cell: (row) => tokens(row.output_tokens) },
  { title: "Cached", number: true, cell: (row) => tokens(row.cache_read_tokens + row.cache_write_tokens) },
  { title: "Runs", number: true, cell: (row) => String(row.runs) },
];

/** @param {Used} row */
function sessionLink(row) {
  const title = row.title || "New session";
  return row.session_id ? h("a", { href: sessionPath(row.session_id) }, title) : title;
}

/** @param {Used} row */
function allTokens(row) {
  return KINDS.reduce((sum, { field }) => sum + row[field], 0);
}

/** @param {Used[]} rows */
function totals(rows) {
  const sum = (/** @type {(row: Used) => number} */ of) => rows.reduce((all, row) => all + of(row), 0);
  /** @type {[string, string][]} */
  const facts = [
    ["Cost", money(sum((row) => row.cost_usd))],
    ["Runs", String(sum((row) => row.runs))],
    ["Input", tokens(sum((row) => row.input_tokens))],
    ["Output", tokens(sum((row) => row.output_tokens))],
    ["From cache", tokens(sum((row) => row.cache_read_tokens))],
  ];
  return h(
    "dl",
    { class: "totals" },
    facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", { class: "num" }, value))),
  );
}

/** One series per model, the largest first. @param {Used[]} rows */
function costSeries(rows) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const row of rows) sums.set(row.model ?? "", (sums.get(row.model ?? "") ?? 0) + row.cost_usd);
  const models = [...sums].sort((a, b) => b[1] - a[1]).map(([model]) => model);
  const shown = models.length > SERIES ? models.slice(0, SERIES - 1) : models;
  const series = shown.map((model) => ({
    name: modelName(model) || "unknown",
    values: byDay(
      rows.filter((row) => row.model === model),
      (row) => row.cost_usd,
    ),
  }));
  const others = rows.filter((row) => !shown.includes(row.model ?? ""));
  return others.length ? [...series, { name: "others", values: byDay(others, (row) => row.cost_usd) }] : series;
}

/** @param {Used[]} rows */
function tokenSeries(rows) {
  return KINDS.map(({ name, field }) => ({ name, values: byDay(rows, (row) => row[field]) }));
}

/** @param {Used[]} rows @param {(row: Used) => number} of */
function byDay(rows, of) {
  /** @type {Map<string, number>} */
  const values = new Map();
  for (const row of rows) values.set(row.day ?? "", (values.get(row.day ?? "") ?? 0) + of(row));
  return values;
}

customElements.define("handrail-usage", HandrailUsage);
