/**
 * The frame around every page: navigation, the list of sessions, the connection's state, and the page itself.
 */

/** @import { Connection } from "./live.js" */
/** @import { Route } from "./router.js" */

import { inWords } from "./api.js";
import { fill, h, HandrailElement, make } from "./dom.js";
import { icon } from "./icons.js";
import { HandrailLogin, signIn, takeCode } from "./login.js";
import { PageContext } from "./page.js";
import { navigation, tabBar } from "./navigation.js";
import { HandrailSidebar } from "./session-list/sidebar.js";

/**
 * Each page is an element in a module of its own, loaded when it is first shown. The element has `route` set.
 * @type {Record<string, { tag: string, load: () => Promise<unknown>, title: string }>}
 */
const PAGES = {
  inbox: { tag: "handrail-inbox", load: () => import("./inbox/inbox.js"), title: "Inbox" },
  sessions: { tag: "handrail-sessions", load: () => import("./session-list/sessions.js"), title: "Sessions" },
  session: { tag: "handrail-session", load: () => import("./session/session.js"), title: "Session" },
  new: { tag: "handrail-new-session", load: () => import("./pages/new-session.js"), title: "New session" },
  hosts: { tag: "handrail-hosts", load: () => import("./pages/hosts.js"), title: "Hosts" },
  usage: { tag: "handrail-usage", load: () => import("./pages/usage.js"), title: "Usage" },
  policy: { tag: "handrail-policy", load: () => import("./pages/policy.js"), title: "Policy" },
  settings: { tag: "handrail-settings", load: () => import("./pages/settings.js"), title: "Settings" },
  playground: { tag: "handrail-playground", load: () => import("./playground/playground.js"), title: "Playground" },
};

const CAUGHT_UP_MS = 2000;
const SIGNED_OUT = "You are signed out: your token was revoked or has expired.";

export class HandrailApp extends HandrailElement {
  context = new PageContext();
  #main = h("main", { id: "main", tabindex: "-1" });
  #banner = h("div", { class: "connection", role: "status" });
  /** @type {Connection} */
  #before = "connecting";
  #signedOut = false;

  /** @override */
  mount() {
    const { live, router, home, keys } = this.context;
    this.watch(router.route, (route) => void this.#show(route));
    this.watch(live.connection, (state) => this.#connectionChanged(state));
    this.listen(window, "hashchange", () => void this.#begin());
    this.hold(keys.on("inbox", () => router.go("/inbox")));
    this.hold(keys.on("sessions", () => router.go("/sessions")));
    this.hold(keys.on("new", () => router.go("/new")));
    this.hold(keys.on("search", () => this.#search()));
    this.hold(live.followHome((message) => home.receive(message)));
    void this.#begin();
  }

  /** Sign in with the code of the address, if there is one; then connect. */
  async #begin() {
    const code = takeCode();
    if (!code && this.#main.isConnected) return;
    let trouble = "";
    try {
      if (code) await signIn(this.context.api, code);
    } catch (error) {
      trouble = inWords(error);
    }
    try {
      this.context.live.me.set(await this.context.api.get("/api/me"));
    } catch (error) {
      if (Reflect.get(Object(error), "status") === 401) return this.#showLogin(trouble);
    }
    this.#showFrame();
    if (trouble) this.#say(`You are signed in already. The new link did not work: ${trouble}`);
  }

  /** @param {string} [trouble] */
  #showLogin(trouble = "") {
    this.#signedOut = true;
    this.context.live.stop();
    this.context.home.clear();
    const signedIn = () => this.#showFrame();
    // The page that was shown is made anew: what it knew may not be for whoever signs in next.
    this.#main.replaceChildren();
    fill(this, make(HandrailLogin, { trouble, signedIn }));
  }

  #showFrame() {
    this.#signedOut = false;
    fill(
      this,
      h(
        "a",
        { class: "skip", href: "#main", onclick: (/** @type {Event} */ event) => this.#skip(event) },
        "Skip to the page",
      ),
      h(
        "div",
        { class: "frame" },
        h("aside", { class: "side", "aria-label": "All sessions" }, navigation(this.context), make(HandrailSidebar)),
        h("div", { class: "middle" }, this.#banner, this.#main),
        tabBar(this.context),
      ),
      h("div", { id: "announcements", class: "visually-hidden", "aria-live": "assertive" }),
    );
    this.context.live.start();
    void this.#show(this.context.router.route.value);
  }

  /** @param {Event} event */
  #skip(event) {
    event.preventDefault();
    this.#main.focus();
  }

  // ---------------------------------------------------------------- the page

  /** @param {Route} route */
  async #show(route) {
    if (this.#signedOut) return;
    this.dataset.page = route.name;
    const page = PAGES[route.name];
    if (!page) return this.#showUnknown(route);
    this.context.notifier.subject(page.title);
    try {
      await page.load();
    } catch (error) {
      return this.#showBroken(page.title, error);
    }
    // Another page may have been asked for while this one was loading.
    if (this.context.router.route.value !== route) return;
    const element = document.createElement(page.tag);
    Reflect.set(element, "route", route);
    fill(this.#main, element);
    this.#main.scrollTop = 0;
  }

  /** @param {Route} route */
  #showUnknown(route) {
    fill(
      this.#main,
      h(
        "div",
        { class: "empty" },
        h("h1", null, "There is no such page"),
        h("p", null, h("code", null, route.path)),
        h("a", { class: "button", href: "/inbox" }, "Go to the inbox"),
      ),
    );
  }

  /** @param {string} title @param {unknown} error */
  #showBroken(title, error) {
    fill(
      this.#main,
      h(
        "div",
        { class: "empty" },
        h("h1", null, `${title} could not be loaded`),
        h("p", null, inWords(error)),
        h("p", null, "Sessions are not touched by this."),
        h("button", { onclick: () => location.reload() }, "Load the page again"),
      ),
    );
  }

  #search() {
    const field = /** @type {HTMLInputElement | undefined} */ (
      [...this.querySelectorAll("input[type=search]")].find((each) => each.checkVisibility())
    );
    if (!field) return this.context.router.go("/sessions");
    field.focus();
    field.select();
  }

  // ---------------------------------------------------------------- the connection

  /** @param {Connection} state */
  #connectionChanged(state) {
    const before = this.#before;
    const wasIn = before !== "connecting";
    this.#before = state;
    if (state === "signed_out") return this.#signedOut ? undefined : this.#showLogin(wasIn ? SIGNED_OUT : "");
    if (state === "lost") return this.#say("Reconnecting…, nothing is lost", { stays: true });
    if (state === "catching_up") return this.#say("Connected again, catching up…", { stays: true });
    if (before === "lost" || before === "catching_up") return this.#say("Caught up", { done: true });
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #hiding;

  /** Say something above the page. @param {string} words @param {{ stays?: boolean, done?: boolean }} [how] */
  #say(words, { stays = false, done = false } = {}) {
    clearTimeout(this.#hiding);
    fill(this.#banner, stays ? h("span", { class: "spinner" }) : icon(done ? "check" : "alert"), " ", words);
    this.#banner.dataset.state = stays ? "trouble" : done ? "done" : "note";
    if (!stays) this.#hiding = setTimeout(() => this.#banner.replaceChildren(), CAUGHT_UP_MS * (done ? 1 : 4));
  }
}

customElements.define("handrail-app", HandrailApp);
