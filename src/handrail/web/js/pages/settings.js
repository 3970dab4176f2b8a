/**
 * Settings: how well everything is, this browser, who may come in, what was done, and the button that ends it all.
 */

/** @import { Theme } from "./theme.js" */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, make } from "../dom.js";
import { counted, duration, now } from "../format.js";
import { isReachable } from "../hosts/words.js";
import { icon } from "../icons.js";
import { confirmThen } from "../session/dialogs.js";
import { HandrailAudit } from "./audit.js";
import { HandrailInvite } from "./invite.js";
import { actButton, choices, section } from "./parts.js";
import { setTheme, theme } from "./theme.js";
import { HandrailTokens } from "./tokens.js";

/** @typedef {{ name: string, ok: boolean | null, words: string, fix?: string, area?: string }} Finding */

export class HandrailSettings extends HandrailElement {
  #findings = h("div", { class: "findings" });
  #about = h("p", { class: "quiet-text" });
  #notifications = h("div", { class: "setting" });

  /** @override */
  mount() {
    const owner = this.page.may("owner");
    fill(
      this,
      h("header", { class: "page-head" }, h("h1", null, "Settings")),
      h(
        "div",
        { class: "page-body narrow" },
        section("Check-up", "", this.#findings),
        section(
          "This browser",
          "",
          h(
            "div",
            { class: "setting" },
            h("span", null, "Theme"),
            choices(
              "Theme",
              [
                { value: "system", words: "System" },
                { value: "light", words: "Light" },
                { value: "dark", words: "Dark" },
              ],
              theme(),
              (value) => setTheme(/** @type {Theme} */ (value)),
            ),
          ),
          this.#notifications,
        ),
        owner &&
          section(
            "Another device",
            "A link that lets one browser in, once, within five minutes.",
            make(HandrailInvite),
          ),
        owner &&
          section(
            "Tokens",
            "Browsers that are signed in, and programs. Revoking one closes what it has open at once.",
            make(HandrailTokens),
          ),
        owner &&
          section(
            "Stop everything",
            "Interrupts every session and ends every Claude Code process, on this machine and on every host that is connected, with all it started. Conversations are kept.",
            this.#stopAll(),
          ),
        owner && section("Audit log", "Who did what.", make(HandrailAudit)),
        section(
          "About",
          "",
          this.#about,
          actButton({ label: ["Sign out"], doing: "Signing out…", run: () => this.#signOut() }),
        ),
      ),
    );
    this.watch(this.page.notifier.on);
    void this.#load();
  }

  async #load() {
    fill(this.#findings, h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Looking…"));
    const [doctor, hub] = await Promise.allSettled([this.page.api.get("/api/doctor"), this.page.api.get("/api/hub")]);
    fill(
      this.#findings,
      doctor.status === "fulfilled"
        ? findingsShown(doctor.value.items)
        : h("p", { class: "problem" }, inWords(doctor.reason)),
    );
    if (hub.status === "fulfilled") {
      const { version, started_at: started, claude, roots } = hub.value;
      fill(
        this.#about,
        `Handrail ${version}, up for ${duration(now() - started)}. Claude Code ${claude?.found ? claude.version : "was not found"}. Sessions start in `,
        h("span", { class: "mono" }, (roots ?? []).join(", ")),
        ".",
      );
    }
  }

  /** @override */
  render() {
    const on = this.page.notifier.on.value;
    const refused = "Notification" in window && Notification.permission === "denied";
    fill(
      this.#notifications,
      h(
        "span",
        null,
        "Notifications",
        h(
          "span",
          { class: "quiet-text" },
          refused
            ? "Your browser blocks them for this page: allow them there first."
            : "When something needs you while this tab is in the background",
        ),
      ),
      h("button", {
        class: "toggle",
        role: "switch",
        "aria-checked": String(on),
        "aria-label": "Notifications",
        disabled: refused || !("Notification" in window),
        onclick: () => void this.#flip(on),
      }),
    );
  }

  /** @param {boolean} on */
  async #flip(on) {
    if (on) this.page.notifier.disable();
    else await this.page.notifier.enable();
    this.render();
  }

  #stopAll() {
    const done = h("span", { role: "status" });
    return h(
      "div",
      { class: "stop-all" },
      h(
        "button",
        {
          class: "danger",
          "data-action": "stop-all",
          onclick: () =>
            void confirmThen({
              title: "Stop everything?",
              body: [
                h(
                  "p",
                  null,
                  `${counted(this.#running().length, "session")} running now. Whatever they are doing is interrupted, and all processes end. A message to a session starts it again.`,
                ),
                this.#outOfReach(),
              ],
              action: "Stop everything",
              danger: true,
              run: async () => {
                const { stopped } = await this.page.api.post("/api/sessions/stop-all");
                done.textContent = `${counted(stopped ?? 0, "session")} stopped.`;
              },
            }),
        },
        icon("stop"),
        "Stop everything",
      ),
      done,
    );
  }

  #running() {
    return [...this.page.home.sessions.value.values()].filter(({ live }) => live);
  }

  /** What this cannot end. */
  #outOfReach() {
    const away = this.#running().filter((session) => !isReachable(session));
    const names = [...new Set(away.map((session) => session.host_name))].join(", ");
    if (away.length === 0) return null;
    return h(
      "p",
      null,
      icon("clock"),
      ` ${counted(away.length, "session")} of these cannot be reached now, and go on: ${names} is not connected.`,
    );
  }

  async #signOut() {
    await this.page.api.post("/api/logout");
    location.assign("/");
  }
}

/** @type {Record<"good" | "known" | "bad", { tone: string, sign: import("../icons.js").IconName, label: string }>} */
const STANDINGS = {
  good: { tone: "done", sign: "check", label: "Passed" },
  known: { tone: "needs-you", sign: "alert", label: "To know" },
  bad: { tone: "failed", sign: "cross", label: "Trouble" },
};

/** What needs attention first. @param {Finding[]} findings */
function findingsShown(findings) {
  const weight = (/** @type {Finding} */ { ok }) => (ok === false ? 0 : ok === null ? 1 : 2);
  const sorted = [...findings].sort((a, b) => weight(a) - weight(b));
  const good = sorted.filter(({ ok }) => ok);
  const others = sorted.filter(({ ok }) => !ok);
  return [
    others.length === 0 &&
      h("p", { class: "all-well" }, icon("check"), ` All is well: ${counted(good.length, "check")} passed.`),
    others.length > 0 && h("ul", { class: "finding-list" }, others.map(finding)),
    good.length > 0 &&
      h(
        "details",
        null,
        h("summary", null, `${counted(good.length, "check")} passed`),
        h("ul", { class: "finding-list" }, good.map(finding)),
      ),
  ];
}

/** @param {Finding} found */
function finding({ name, ok, words, fix }) {
  const { tone, sign, label } = ok ? STANDINGS.good : ok === null ? STANDINGS.known : STANDINGS.bad;
  return h(
    "li",
    { "data-tone": tone },
    icon(sign, { label }),
    h("div", null, h("strong", null, name), " ", words, fix && h("p", { class: "quiet-text" }, "What to do: ", fix)),
  );
}

customElements.define("handrail-settings", HandrailSettings);
