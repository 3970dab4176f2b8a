/**
 * The machines that run sessions: how each is, what runs there, and how another one is let in.
 */

/** @import { Host } from "../types.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, make, reconcile } from "../dom.js";
import { counted } from "../format.js";
import { HandrailEnrolment } from "../hosts/enrolment.js";
import { HostCard } from "../hosts/host-card.js";
import { whereabouts } from "../hosts/words.js";
import { icon } from "../icons.js";
import { confirmThen } from "../session/dialogs.js";
import { section } from "./parts.js";

const LOOK_AGAIN_S = 3;
/** While somebody waits for a machine to come. */
const LOOK_CLOSELY_S = 1;

export class HandrailHosts extends HandrailElement {
  /** @type {Host[] | null} */ #hosts = null;
  /** Which look was begun last, and which was taken: answers may overtake each other. */
  #asked = 0;
  #taken = 0;
  #whereabouts = "";
  #trouble = h("p", { class: "problem", role: "alert", hidden: true });
  #loading = h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Looking…");
  #here = h("div", { class: "host-cards" });
  #gone = h("div", { class: "host-cards" });
  #goneCount = h("summary");
  #goneFold = h("details", { class: "hosts-gone", hidden: true }, this.#goneCount, this.#gone);
  #enrolment = make(HandrailEnrolment);

  /** @override */
  mount() {
    fill(
      this,
      h("header", { class: "page-head" }, h("h1", null, "Hosts")),
      h(
        "div",
        { class: "page-body" },
        h("section", { "aria-label": "Machines" }, this.#trouble, this.#loading, this.#here, this.#goneFold),
        this.page.may("owner") &&
          section(
            "Another machine",
            "It dials this hub, so that it needs no open port. Its sessions go on while the hub is away.",
            this.#enrolment,
          ),
      ),
    );
    this.every(LOOK_AGAIN_S, () => document.hidden || void this.#load());
    this.every(LOOK_CLOSELY_S, () => this.#enrolment.isWaiting && void this.#load());
    this.watch(this.page.home.sessions, () => this.#sessionsChanged());
    this.watch(this.page.live.connection, (connection) => connection === "open" && void this.#load());
    void this.#load();
  }

  /** The list of sessions is told at once when a host comes or goes. */
  #sessionsChanged() {
    const now = whereabouts(this.page.home.sessions.value.values());
    if (now === this.#whereabouts) return;
    this.#whereabouts = now;
    void this.#load();
  }

  async #load() {
    if (!this.isConnected) return;
    const asked = ++this.#asked;
    try {
      const { items } = await this.page.api.get("/api/hosts", { query: { revoked: true } });
      if (asked < this.#taken) return;
      this.#taken = asked;
      this.#take(items);
    } catch (error) {
      // Once there is something to show, the page itself says when the hub is out of reach.
      if (!this.#hosts) this.#say(error);
    }
  }

  /** @param {Host[]} hosts */
  #take(hosts) {
    if (!this.#hosts) this.#trouble.hidden = true;
    this.#hosts = hosts;
    this.#enrolment.hosts = hosts;
    this.update();
  }

  /** @override */
  render() {
    this.#loading.hidden = this.#hosts !== null || !this.#trouble.hidden;
    const hosts = this.#hosts ?? [];
    this.#show(
      this.#here,
      hosts.filter(({ state }) => state !== "revoked"),
    );
    // Of those that never came nothing is left.
    const gone = hosts.filter((host) => host.state === "revoked" && (host.sessions > 0 || host.last_seen_at !== null));
    this.#show(this.#gone, gone);
    this.#goneFold.hidden = gone.length === 0;
    this.#goneCount.textContent = counted(gone.length, "revoked host");
  }

  /** @param {HTMLElement} list @param {Host[]} hosts */
  #show(list, hosts) {
    reconcile(list, hosts, {
      key: (host) => host.id,
      make: (host) => make(HostCard, { acts: this.page.may("owner") ? this.#acts(host) : null }),
      update: (card, host) => (card.host = host),
    });
  }

  /** @param {Host} host */
  #acts(host) {
    return { drain: (/** @type {boolean} */ on) => void this.#drain(host, on), revoke: () => void this.#revoke(host) };
  }

  /** @param {Host} host @param {boolean} on */
  async #drain(host, on) {
    try {
      this.#changed(await this.page.api.post(`${addressOf(host)}/drain`, { on }));
      this.#trouble.hidden = true;
    } catch (error) {
      this.#say(error);
    }
  }

  /** @param {Host} host */
  #changed(host) {
    this.#take((this.#hosts ?? []).map((each) => (each.id === host.id ? host : each)));
  }

  /** @param {Host} host */
  #revoke(host) {
    return confirmThen({
      title: `Revoke ${host.name}?`,
      body: [
        h(
          "p",
          null,
          "Its key opens nothing any more, and its connection is closed. What runs there goes on, but cannot be reached ",
          "from here; what was copied stays readable.",
        ),
      ],
      action: "Revoke",
      danger: true,
      run: async () => {
        await this.page.api.delete(addressOf(host));
        await this.#load();
      },
    });
  }

  /** @param {unknown} error */
  #say(error) {
    fill(this.#trouble, icon("alert"), " ", inWords(error));
    this.#trouble.hidden = false;
    this.update();
  }
}

/** @param {Host} host */
function addressOf(host) {
  return `/api/hosts/${encodeURIComponent(host.id)}`;
}

customElements.define("handrail-hosts", HandrailHosts);
