/**
 * The ways between pages: at the top of the left column on a desk, at the bottom of the screen on a phone.
 */

/** @import { IconName } from "./icons.js" */
/** @import { PageContext } from "./page.js" */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { keyHint } from "./keys.js";

/** @typedef {{ page: string, href: string, words: string, icon: IconName, key?: import("./keys.js").KeyName }} Place */

/** @type {Place[]} */
const PLACES = [
  { page: "inbox", href: "/inbox", words: "Inbox", icon: "inbox", key: "inbox" },
  { page: "sessions", href: "/sessions", words: "Sessions", icon: "list" },
  { page: "new", href: "/new", words: "New", icon: "plus", key: "new" },
];

/** @type {Place[]} */
const MORE = [
  { page: "hosts", href: "/hosts", words: "Hosts", icon: "server" },
  { page: "usage", href: "/usage", words: "Usage", icon: "chart" },
  { page: "policy", href: "/policy", words: "Policy", icon: "shield" },
  { page: "settings", href: "/settings", words: "Settings", icon: "gear" },
];

/** The head of the left column. @param {PageContext} page */
export function navigation(page) {
  return h(
    "header",
    { class: "brand" },
    h(
      "a",
      { href: "/inbox", class: "brand-name" },
      h("img", { src: "/web/icons/icon.svg", alt: "", width: 20, height: 20 }),
      "Handrail",
    ),
    h(
      "nav",
      { "aria-label": "More pages", class: "brand-more" },
      MORE.map((place) =>
        marked(
          page,
          place,
          h(
            "a",
            { href: place.href, class: "icon-button", title: place.words, "aria-label": place.words },
            icon(place.icon),
          ),
        ),
      ),
    ),
  );
}

/** The same for phones, in the head of a page. */
export function morePages() {
  return h(
    "nav",
    { "aria-label": "More pages", class: "more-pages" },
    MORE.map((place) => h("a", { href: place.href, "aria-label": place.words }, icon(place.icon))),
  );
}

/** "Inbox 2" and "New session" above the list of sessions. @param {PageContext} page */
export function quickPlaces(page) {
  return h(
    "nav",
    { class: "quick", "aria-label": "Pages" },
    [PLACES[0], PLACES[2]].map(
      (place) =>
        place &&
        marked(
          page,
          place,
          h(
            "a",
            { href: place.href },
            icon(place.icon),
            h("span", null, place.page === "new" ? "New session" : place.words),
            place.page === "inbox" && countOf(page),
            place.key && keyHint(place.key),
          ),
        ),
    ),
  );
}

/** @param {PageContext} page */
export function tabBar(page) {
  return h(
    "nav",
    { class: "tabs", "aria-label": "Pages" },
    PLACES.map((place) =>
      marked(
        page,
        place,
        h(
          "a",
          { href: place.href },
          icon(place.icon),
          h("span", null, place.words),
          place.page === "inbox" && countOf(page),
        ),
      ),
    ),
  );
}

/**
 * Mark the link to the page that is shown.
 * @param {PageContext} page @param {Place} place @param {HTMLAnchorElement} link
 */
function marked(page, place, link) {
  const mark = () => {
    if (page.router.route.value.name === place.page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  };
  page.router.route.watch(mark);
  mark();
  return link;
}

/** How many asks wait. @param {PageContext} page */
function countOf(page) {
  const badge = h("span", { class: "count num" });
  const show = () => {
    const count = page.home.asks.value.size;
    badge.textContent = count ? String(count) : "";
    badge.hidden = !count;
    badge.setAttribute("aria-label", `${count} waiting`);
  };
  page.home.asks.watch(show);
  show();
  return badge;
}
