/**
 * Bars for days, each stacked of the same series. Walked with the arrow keys or a pointer: the line below tells what a
 * day had. The same numbers are there as a table.
 */

import { fill, h, HandrailElement } from "../dom.js";
import { dayWords, linear, ticks } from "./scale.js";
import { s } from "./svg.js";

/** @typedef {{ name: string, values: Map<string, number> }} Series  values by day */

const HEIGHT = 220;
const MARGIN = { top: 12, right: 8, bottom: 24, left: 56 };
const LABEL_PX = 64;

export class HandrailDayBars extends HandrailElement {
  title_ = "";
  /** @type {string[]} */ days = [];
  /** The largest first: it stands on the ground. @type {Series[]} */ series = [];
  /** @type {(value: number) => string} */ words = String;

  #chosen = -1;
  #width = 0;
  #plot = h("div", { class: "plot", tabindex: "0", role: "group" });
  #readout = h("p", { class: "readout num", role: "status" });
  #legend = h("ul", { class: "legend" });
  #table = h("details", { class: "as-table" });

  /** @override */
  mount() {
    fill(this, this.#legend, this.#plot, this.#readout, this.#table);
    const observer = new ResizeObserver(() => this.#resized());
    observer.observe(this.#plot);
    this.hold(() => observer.disconnect());
    this.listen(this.#plot, "keydown", (event) => this.#pressed(event));
    this.listen(this.#plot, "pointermove", (event) => this.#choose(this.#dayAt(event.clientX)));
    this.listen(this.#plot, "pointerleave", () => this.#choose(-1));
    this.listen(this.#plot, "blur", () => this.#choose(-1));
  }

  #resized() {
    const width = Math.floor(this.#plot.clientWidth);
    if (width === this.#width || width === 0) return;
    this.#width = width;
    this.#draw();
  }

  /** @override */
  render() {
    this.#plot.setAttribute("aria-label", `${this.title_}: bars by day. Use the arrow keys to hear each day.`);
    fill(
      this.#legend,
      this.series.length > 1 &&
        this.series.map(({ name }, index) => h("li", null, h("span", { class: "swatch", "data-series": index }), name)),
    );
    fill(this.#table, h("summary", null, "As a table"), this.#tableOf());
    this.#width = Math.floor(this.#plot.clientWidth);
    this.#draw();
  }

  // ---------------------------------------------------------------- drawing

  #draw() {
    const most = Math.max(...this.days.map((day) => this.#total(day)), 0);
    const marks = ticks(most, 4);
    const top = marks.at(-1) ?? 1;
    const y = linear(top, HEIGHT - MARGIN.bottom, MARGIN.top);
    const band = (this.#width - MARGIN.left - MARGIN.right) / Math.max(1, this.days.length);
    fill(
      this.#plot,
      this.#width > 0 &&
        s(
          "svg",
          { width: this.#width, height: HEIGHT, viewBox: `0 0 ${this.#width} ${HEIGHT}`, "aria-hidden": "true" },
          marks.map((mark) => this.#gridLine(mark, y(mark))),
          this.days.map((day, index) => this.#bar(day, index, band, y)),
          this.#dayLabels(band),
        ),
    );
    this.#showReadout();
  }

  /** @param {number} mark @param {number} y */
  #gridLine(mark, y) {
    return s(
      "g",
      { class: "grid-line" },
      s("line", { x1: MARGIN.left, x2: this.#width - MARGIN.right, y1: y, y2: y }),
      s("text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, this.words(mark)),
    );
  }

  /** @param {string} day @param {number} index @param {number} band @param {(value: number) => number} y */
  #bar(day, index, band, y) {
    const gap = band > 8 ? Math.min(6, band * 0.25) : 1;
    const x = MARGIN.left + index * band;
    let below = 0;
    const parts = this.series.map(({ values }, number) => {
      const value = values.get(day) ?? 0;
      const [from, to] = [y(below), y(below + value)];
      below += value;
      // A hairline of the page between the parts tells them apart without colour.
      return (
        value > 0 &&
        s("rect", {
          x: x + gap / 2,
          width: Math.max(1, band - gap),
          y: to,
          height: Math.max(0.5, from - to - (number ? 1 : 0)),
          "data-series": number,
        })
      );
    });
    return s(
      "g",
      { class: "day", "data-day": day, "data-index": index },
      s("rect", { class: "hit", x, width: band, y: MARGIN.top, height: HEIGHT - MARGIN.top - MARGIN.bottom }),
      parts,
    );
  }

  /** @param {number} band */
  #dayLabels(band) {
    const every = Math.max(1, Math.ceil(LABEL_PX / band));
    // Counted from today, which is what people look for first.
    return this.days.map(
      (day, index) =>
        (this.days.length - 1 - index) % every === 0 &&
        s(
          "text",
          {
            class: "day-label",
            x: Math.min(this.#width - MARGIN.right - 18, MARGIN.left + (index + 0.5) * band),
            y: HEIGHT - 6,
            "text-anchor": "middle",
          },
          dayWords(day),
        ),
    );
  }

  // ---------------------------------------------------------------- reading

  /** @param {number} clientX */
  #dayAt(clientX) {
    const left = this.#plot.getBoundingClientRect().left + MARGIN.left;
    const band = (this.#width - MARGIN.left - MARGIN.right) / Math.max(1, this.days.length);
    const index = Math.floor((clientX - left) / band);
    return index >= 0 && index < this.days.length ? index : -1;
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const last = this.days.length - 1;
    const here = this.#chosen === -1 ? last + 1 : this.#chosen;
    const next = { ArrowLeft: Math.max(0, here - 1), ArrowRight: Math.min(last, here + 1), Home: 0, End: last }[
      event.key
    ];
    if (next === undefined) return;
    event.preventDefault();
    this.#choose(next);
  }

  /** @param {number} index */
  #choose(index) {
    if (index === this.#chosen) return;
    this.#plot.querySelector(".day.chosen")?.classList.remove("chosen");
    this.#chosen = index;
    this.#plot.querySelector(`[data-index="${index}"]`)?.classList.add("chosen");
    this.#showReadout();
  }

  #showReadout() {
    const day = this.days[this.#chosen];
    if (day === undefined) {
      const all = this.days.reduce((sum, each) => sum + this.#total(each), 0);
      return fill(this.#readout, h("span", { class: "quiet-text" }, `${this.words(all)} in ${this.days.length} days`));
    }
    const parts = this.series.filter(({ values }) => (values.get(day) ?? 0) > 0);
    fill(
      this.#readout,
      h("strong", null, dayWords(day)),
      ` ${this.words(this.#total(day))}`,
      parts.length > 0 &&
        this.series.length > 1 &&
        h(
          "span",
          { class: "quiet-text" },
          " · ",
          parts.map(({ name, values }) => `${name} ${this.words(values.get(day) ?? 0)}`).join(" · "),
        ),
    );
  }

  /** @param {string} day */
  #total(day) {
    return this.series.reduce((sum, { values }) => sum + (values.get(day) ?? 0), 0);
  }

  #tableOf() {
    const used = this.days.filter((day) => this.#total(day) > 0).reverse();
    return h(
      "div",
      { class: "table-scroll", tabindex: "0", role: "region", "aria-label": `${this.title_}, as a table` },
      h(
        "table",
        { class: "numbers" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", { scope: "col" }, "Day"),
            this.series.map(({ name }) => h("th", { scope: "col" }, name)),
            h("th", { scope: "col" }, "All"),
          ),
        ),
        h(
          "tbody",
          null,
          used.map((day) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, day),
              this.series.map(({ values }) =>
                h("td", { class: "num" }, values.has(day) ? this.words(values.get(day) ?? 0) : "–"),
              ),
              h("td", { class: "num" }, this.words(this.#total(day))),
            ),
          ),
        ),
      ),
    );
  }
}

customElements.define("handrail-day-bars", HandrailDayBars);
