/**
 * Which page is shown. Addresses are ordinary paths, for all of which the hub serves index.html.
 */

import { Store } from "./store.js";

/** @typedef {{ name: string, params: Record<string, string>, query: Record<string, string>, path: string }} Route */

/** The page's addresses, in one table. `:name` stands for one part. */
export const PATHS = /** @type {const} */ ({
  inbox: ["/", "/inbox"],
  sessions: ["/sessions"],
  session: ["/s/:id"],
  new: ["/new"],
  hosts: ["/hosts"],
  usage: ["/usage"],
  policy: ["/policy"],
  settings: ["/settings"],
  playground: ["/playground"],
});

export class Router {
  /** @type {Store<Route>} */
  route;

  constructor() {
    this.route = new Store(routeOf(here()));
    window.addEventListener("popstate", () => this.#show(here()));
    document.addEventListener("click", (event) => this.#clicked(event));
  }

  /** @param {string} path @param {{ replace?: boolean }} [how] */
  go(path, { replace = false } = {}) {
    if (path === here()) return;
    history[replace ? "replaceState" : "pushState"](null, "", path);
    this.#show(path);
  }

  /** The page that is shown has another address from now on, and stays as it is. @param {string} path */
  rename(path) {
    history.replaceState(null, "", path);
  }

  /** Back to where we came from, or to `otherwise` if the page was opened here. @param {string} otherwise */
  back(otherwise) {
    if (history.length > 1 && this.#moved) history.back();
    else this.go(otherwise, { replace: true });
  }

  #moved = false;

  /** @param {string} path */
  #show(path) {
    this.#moved = true;
    this.route.set(routeOf(path));
  }

  /** Links to our own pages do not load the page anew. @param {MouseEvent} event */
  #clicked(event) {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || !matches(link.pathname)) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

/** Where the browser is. */
function here() {
  return location.pathname + location.search;
}

/** @param {string} address a path, perhaps with a query @returns {Route} */
export function routeOf(address) {
  const [path = "", query = ""] = address.split("?");
  const found = matches(path) ?? { name: "unknown", params: {}, path };
  return { ...found, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {string} path @returns {Omit<Route, "query"> | null} */
function matches(path) {
  for (const [name, patterns] of Object.entries(PATHS)) {
    for (const pattern of patterns) {
      const params = paramsOf(pattern, path);
      if (params) return { name, params, path };
    }
  }
  return null;
}

/** @param {string} pattern @param {string} path @returns {Record<string, string> | null} */
function paramsOf(pattern, path) {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":") && value) params[part.slice(1)] = decoded(value);
    else if (part !== value) return null;
  }
  return params;
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page about one machine. @param {"/sessions" | "/new"} page @param {string} host */
export function onHost(page, host) {
  return host ? `${page}?${new URLSearchParams({ host })}` : page;
}

/** The address of a session. @param {string} id */
export function sessionPath(id) {
  return `/s/${encodeURIComponent(id)}`;
}
