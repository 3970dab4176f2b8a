/**
 * The page's icons: outlines on a 16-pixel grid, in the colour of the text beside them.
 */

/** @typedef {keyof typeof SHAPES} IconName */

const SHAPES = {
  alert: "M8 2.2 14.4 13.4H1.6Z M8 6.4v3.2 M8 11.4v.2",
  archive: "M2 3h12v3H2Z M3 6v7h10V6 M6.5 8.5h3",
  arrow_left: "M13 8H3 M7 4 3 8l4 4",
  arrow_down: "M8 3v10 M4 9l4 4 4-4",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3Z M6.8 14.2h2.4",
  chart: "M2.5 13.5h11 M4 11V7 M8 11V3.5 M12 11V8.5",
  check: "M3 8.5 6.5 12 13 4.5",
  chevron: "M4.5 6.5 8 10l3.5-3.5",
  circle: "M8 3a5 5 0 1 0 0 10A5 5 0 1 0 8 3Z",
  clock: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 1 0 8 2.2Z M8 5v3.2l2.2 1.6",
  comment: "M2.5 3h11v8H8l-3 2.5V11H2.5Z",
  copy: "M5.5 5.5h8v8h-8Z M10.5 5.5v-3h-8v8h3",
  cross: "M4 4l8 8 M12 4l-8 8",
  dots: "M3.5 8h.01 M8 8h.01 M12.5 8h.01",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3Z",
  file: "M4 2h5l3 3v9H4Z M9 2v3h3",
  fork: "M4 3v6 M12 3v2a3 3 0 0 1-3 3H7a3 3 0 0 0-3 3v2 M3 3h2 M11 3h2 M3 13h2",
  gear: "M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 1 0 0-4.4Z M8 1.8v2 M8 12.2v2 M1.8 8h2 M12.2 8h2 M3.6 3.6l1.4 1.4 M11 11l1.4 1.4 M12.4 3.6 11 5 M5 11l-1.4 1.4",
  globe:
    "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 1 0 8 2.2Z M2.2 8h11.6 M8 2.2c-3.4 3.4-3.4 8.2 0 11.6 M8 2.2c3.4 3.4 3.4 8.2 0 11.6",
  inbox: "M2 9l2-6h8l2 6v4H2Z M2 9h3.5l1 1.8h3l1-1.8H14",
  link: "M6.5 9.5l3-3 M7 5l1.6-1.6a2.8 2.8 0 0 1 4 4L11 9 M9 11l-1.6 1.6a2.8 2.8 0 0 1-4-4L5 7",
  list: "M5.5 4H14 M5.5 8H14 M5.5 12H14 M2.2 4h.01 M2.2 8h.01 M2.2 12h.01",
  lock: "M3.5 7.5h9v6h-9Z M5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  mic: "M8 2a2 2 0 0 1 2 2v4a2 2 0 0 1-4 0V4a2 2 0 0 1 2-2Z M4 8a4 4 0 0 0 8 0 M8 12v2",
  panel: "M2 3h12v10H2Z M10 3v10",
  pause: "M5.5 3.5v9 M10.5 3.5v9",
  plan: "M3 2.5h10v11H3Z M5.5 5.5h5 M5.5 8h5 M5.5 10.5h3",
  play: "M5 3l8 5-8 5Z",
  plug: "M6 2v3 M10 2v3 M4 5h8v3a4 4 0 0 1-8 0Z M8 12v2.5",
  plus: "M8 3v10 M3 8h10",
  question: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.6 8 9 8 10 M8 12.4v.2",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9Z M10.3 10.3 14 14",
  server: "M2.5 3h11v4h-11Z M2.5 9h11v4h-11Z M5 5h.01 M5 11h.01",
  send: "M2.5 8 13.5 2.8 10.5 13.5 7.8 9Z",
  shield: "M8 1.8 13 3.8v4c0 3-2 5-5 6.4C5 12.8 3 10.8 3 7.8v-4Z",
  stop: "M4 4h8v8H4Z",
  terminal: "M2 3h12v10H2Z M4.5 6l2 2-2 2 M8 10.5h3.5",
  trash: "M3 4.5h10 M6 4.5V3h4v1.5 M4.5 4.5l.6 9h5.8l.6-9",
  undo: "M6 3 2.5 6.5 6 10 M2.5 6.5H10a3.5 3.5 0 0 1 0 7H6",
  wallet: "M2 4.5h11v8.5H2Z M2 4.5 10 2.5v2 M10.5 8.8h.01",
};

const SVG = "http://www.w3.org/2000/svg";

/**
 * An icon, which says nothing to a screen reader: the words are beside it, or `label` gives them.
 * @param {IconName} name
 * @param {{ label?: string }} [how]
 * @returns {SVGSVGElement}
 */
export function icon(name, { label } = {}) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}
