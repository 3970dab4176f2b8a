/**
 * Starting a session: where, with what, and what Claude is to do. Or going on with one that Claude Code keeps.
 */

import { inWords, Problem } from "../api.js";
import { fill, h, HandrailElement, make } from "../dom.js";
import { oneLine } from "../format.js";
import { machinesToStartOn } from "../hosts/words.js";
import { icon } from "../icons.js";
import { sessionPath } from "../router.js";
import { filesIn, HandrailAttachments } from "../session/attachments.js";
import { confirmThen } from "../session/dialogs.js";
import { MODES } from "../session/modes.js";
import { HandrailAdoptable } from "./adoptable.js";
import { HandrailDirectories } from "./directory-picker.js";
import { actButton, choices, field } from "./parts.js";

/** @import { Host } from "../types.js" */
/** @import { Route } from "../router.js" */

/**
 * @typedef {object} HubInfo
 * @property {boolean} demo_offered
 * @property {{ found: boolean, logged_in: boolean | null }} claude
 * @property {string[]} [profiles]
 * @property {string} [default_profile]
 * @property {string | null} [default_model]
 * @property {string | null} [default_mode]
 */

const DRAFT = "new-session";
const NAME_OF_WORKTREE = "[A-Za-z0-9][A-Za-z0-9._\\/\\-]{0,99}";
const UNSURE = new Set(["outcome_unknown", "stopping", "unreachable"]);
const START_AGAIN = "Press Start again: whatever became of the first try, there will be one session.";

export class HandrailNewSession extends HandrailElement {
  /** @type {Route} */ route = /** @type {any} */ (null);

  #directories = make(HandrailDirectories);
  #host = h("select", { "data-hook": "host" });
  #hostField = field("Machine", this.#host);
  /** @type {Host[]} */ #hosts = [];
  /** @type {HubInfo | null} */ #hub = null;
  /** What was asked for and not answered: with the same id it is started once, however often it is asked for. */
  #asked = { wanted: "", id: "" };
  #attachments = make(HandrailAttachments, { changed: () => this.render() });
  #prompt = h("textarea", { rows: "4", placeholder: "What is Claude to do?", "data-hook": "first-prompt" });
  #title = h("input", { type: "text", maxlength: "200", placeholder: "Named after the prompt" });
  #model = h("select", null, h("option", { value: "" }, "Default"));
  #mode = h(
    "select",
    null,
    h("option", { value: "" }, "Default"),
    MODES.map(({ mode, words, hint }) => h("option", { value: mode }, `${words}: ${hint}`)),
  );
  #profile = h("select", null, h("option", { value: "" }, "Default"));
  #worktree = h("input", {
    type: "text",
    class: "mono",
    pattern: NAME_OF_WORKTREE,
    maxlength: "100",
    placeholder: "none: work in the directory itself",
    autocapitalize: "off",
    spellcheck: "false",
  });
  #budget = h("input", { type: "number", min: "0.01", step: "any", inputmode: "decimal", placeholder: "none" });
  #start = h("button", { type: "submit", class: "primary", "data-action": "start" }, icon("play"), "Start");
  #trouble = h("p", { class: "problem", role: "alert", hidden: true });
  #demo = h("div", { hidden: true });
  #form = h("form", { class: "new-form" });
  #existing = make(HandrailAdoptable);
  #starting = false;

  /** @override */
  mount() {
    this.#existing.hidden = true;
    this.#hostField.hidden = true;
    fill(this.#form, this.#fields());
    fill(
      this,
      h(
        "header",
        { class: "page-head" },
        h("h1", null, "New session"),
        choices(
          "Start or resume",
          [
            { value: "start", words: "Start" },
            { value: "resume", words: "Resume from Claude Code" },
          ],
          "start",
          (value) => this.#show(value),
        ),
      ),
      h("div", { class: "page-body narrow" }, this.#demo, this.#hostField, this.#form, this.#existing),
    );
    this.#restore();
    this.#listen();
    void this.#load();
    if (!matchMedia("(pointer: coarse)").matches) this.#prompt.focus();
  }

  #fields() {
    return [
      field("Directory", this.#directories),
      field("Prompt", this.#prompt),
      this.#attachments,
      h(
        "div",
        { class: "field-grid" },
        field("Model", this.#model),
        field("Permission mode", this.#mode),
        field("Policy", this.#profile, "Which rules decide before anybody is asked"),
      ),
      h(
        "details",
        { class: "more-fields" },
        h("summary", null, "More: title, worktree, budget"),
        h(
          "div",
          { class: "field-grid" },
          field("Title", this.#title),
          field("Git worktree", this.#worktree, "A copy of the repository of its own, with a branch of this name"),
          field("Budget in dollars", this.#budget, "Above it, Claude asks you before it goes on"),
        ),
      ),
      this.#trouble,
      h(
        "div",
        { class: "form-buttons" },
        this.#start,
        h("span", { class: "quiet-text desk-only" }, h("kbd", null, "ctrl"), " ", h("kbd", null, "⏎")),
      ),
    ];
  }

  #listen() {
    this.listen(this.#form, "submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.listen(this.#form, "input", () => this.#keep());
    this.listen(this.#host, "change", () => {
      this.#moved();
      this.#keep();
    });
    this.listen(this.#prompt, "keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#form.requestSubmit();
    });
    for (const [type, data] of /** @type {const} */ ([
      ["paste", "clipboardData"],
      ["drop", "dataTransfer"],
    ])) {
      this.listen(this.#form, type, (event) => {
        const files = filesIn(event[data]);
        if (files.length === 0) return;
        event.preventDefault();
        this.#attachments.add(files);
      });
    }
    this.listen(this.#form, "dragover", (event) => event.preventDefault());
  }

  /** @param {string} what */
  #show(what) {
    this.#form.hidden = what !== "start";
    this.#existing.hidden = what !== "resume";
    if (what === "resume") this.#existing.load();
  }

  async #load() {
    const [hub, hosts] = await Promise.allSettled([this.page.api.get("/api/hub"), this.page.api.get("/api/hosts")]);
    if (!this.isConnected) return;
    if (hub.status === "fulfilled") this.#takeHub(hub.value);
    if (hosts.status === "fulfilled") this.#takeHosts(hosts.value.items);
    this.#moved();
    this.#restore();
  }

  // ---------------------------------------------------------------- on which machine

  /** Where a session can be started: with one machine there is nothing to choose. @param {Host[]} hosts */
  #takeHosts(hosts) {
    this.#hosts = hosts;
    const choices = machinesToStartOn(hosts);
    this.#hostField.hidden = choices.length < 2;
    fill(
      this.#host,
      choices.map(({ value, words, disabled }) => h("option", { value, disabled }, words)),
    );
    const wanted = this.route?.query.host ?? this.page.drafts.get(DRAFT)?.host ?? "";
    if (choices.some(({ value, disabled }) => value === wanted && !disabled)) this.#host.value = wanted;
  }

  /** Another machine has other directories, sessions and models, and lets other policies be chosen. */
  #moved() {
    const host = this.#hosts.find(({ id }) => id === this.#host.value);
    this.#directories.host = this.#existing.host = this.#host.value;
    if (!this.#existing.hidden) void this.#existing.load();
    void this.#offerModels();
    // The demo is played on the hub's own machine.
    this.#demo.hidden = !this.#hub?.demo_offered || Boolean(this.#host.value);
    if (host && !host.is_hub) {
      offer(this.#profile, host.facts.profiles.map(named));
      for (const select of [this.#profile, this.#model, this.#mode]) nameDefault(select, `of ${host.name}`);
      return;
    }
    offer(this.#profile, (this.#hub?.profiles ?? []).map(named));
    nameDefault(this.#profile, this.#hub?.default_profile);
    nameDefault(this.#model, this.#hub?.default_model);
    nameDefault(this.#mode, MODES.find(({ mode }) => mode === this.#hub?.default_mode)?.words);
  }

  async #offerModels() {
    const host = this.#host.value;
    /** @type {{ items: { value: string, name: string }[] }} */
    let models;
    try {
      models = await this.page.api.get("/api/models", { query: { host } });
    } catch {
      return; // The default is there to be chosen.
    }
    if (host !== this.#host.value || !this.isConnected) return;
    offer(
      this.#model,
      models.items.filter(({ value }) => value !== "default"),
    );
    this.#restoreChoices();
  }

  // ---------------------------------------------------------------- the hub

  /** @param {HubInfo} hub */
  #takeHub(hub) {
    this.#hub = hub;
    if (hub.demo_offered) fill(this.#demo, this.#demoCard(hub));
  }

  /** @param {HubInfo} hub */
  #demoCard({ claude }) {
    const why = claude.found
      ? "Claude Code is not logged in on this machine, so a session could not do much."
      : "Claude Code was not found on this machine, so sessions cannot be started.";
    return h(
      "section",
      { class: "demo-card", "aria-label": "Demo" },
      h("h2", null, "See it work first"),
      h(
        "p",
        null,
        why,
        " The demo is a scripted session that needs no account: it asks for a permission, a plan review and an answer.",
      ),
      actButton({
        label: [icon("play"), "Start the demo"],
        doing: "Starting the demo…",
        class: "primary",
        run: () => this.#startDemo(),
      }),
    );
  }

  async #startDemo() {
    const session = await this.page.api.post("/api/demo");
    this.page.router.go(sessionPath(session.id));
  }

  async #submit() {
    if (this.#starting || !this.#form.reportValidity()) return;
    if (!this.#directories.value) return this.#say("Choose the directory in which Claude is to work.");
    if (this.#mode.value !== "bypassPermissions") return this.#create();
    await confirmThen({
      title: "Start without any questions?",
      body: [
        h(
          "p",
          null,
          "In this mode commands, edits and network access run without asking you. Rules that deny still do.",
        ),
      ],
      action: "Start with bypass",
      danger: true,
      run: () => this.#create(),
    });
  }

  async #create() {
    this.#starting = true;
    this.render();
    try {
      const session = await this.page.api.post("/api/sessions", await this.#named());
      this.#asked = { wanted: "", id: "" };
      this.page.drafts.drop(DRAFT);
      this.page.router.go(sessionPath(session.id));
    } catch (error) {
      const isUnsure = error instanceof Problem && UNSURE.has(error.code);
      this.#say(isUnsure ? `${inWords(error)} ${START_AGAIN}` : `The session was not started. ${inWords(error)}`);
    }
    this.#starting = false;
    this.render();
  }

  /** What is wanted, under the id that it had when it was asked for last, if nothing was changed since. */
  async #named() {
    const session = await this.#wanted();
    const wanted = JSON.stringify(session);
    if (wanted !== this.#asked.wanted) this.#asked = { wanted, id: crypto.randomUUID() };
    return { id: this.#asked.id, ...session };
  }

  async #wanted() {
    const worktree = this.#worktree.value.trim();
    const images = await this.#attachments.contents();
    return {
      cwd: this.#directories.value,
      ...(this.#host.value && { host: this.#host.value }),
      prompt: this.#prompt.value.trim(),
      ...(images.length && { images }),
      ...(this.#title.value.trim() && { title: this.#title.value.trim() }),
      ...(this.#model.value && { model: this.#model.value }),
      ...(this.#mode.value && { mode: this.#mode.value }),
      ...(this.#profile.value && { policy: this.#profile.value }),
      ...(worktree && { worktree }),
      ...(this.#budget.value && { budget: Number(this.#budget.value) }),
    };
  }

  /** @override */
  render() {
    const may = this.page.may("owner");
    this.#start.disabled = this.#starting || !may;
    fill(this.#start, this.#starting ? [h("span", { class: "spinner" }), "Starting…"] : [icon("play"), "Start"]);
    if (may || !this.page.live.me.value) return;
    this.#form.prepend(this.#trouble); // before anybody fills anything in
    this.#say("Starting sessions needs an owner's token; yours only looks and answers.");
  }

  /** @param {string} words */
  #say(words) {
    this.#trouble.textContent = words;
    this.#trouble.hidden = false;
  }

  // ---------------------------------------------------------------- what was begun

  #keep() {
    this.#trouble.hidden = true;
    this.page.drafts.set(DRAFT, {
      prompt: this.#prompt.value,
      cwd: this.#directories.value,
      host: this.#host.value,
      model: this.#model.value,
      mode: this.#mode.value,
      policy: this.#profile.value,
    });
  }

  #restore() {
    const draft = this.page.drafts.get(DRAFT);
    if (!draft) return;
    this.#prompt.value ||= draft.prompt ?? "";
    const sameMachine = (draft.host ?? "") === this.#host.value;
    if (sameMachine && !this.#directories.value && draft.cwd) this.#directories.value = draft.cwd;
    this.#restoreChoices();
  }

  #restoreChoices() {
    const draft = this.page.drafts.get(DRAFT) ?? {};
    for (const [select, value] of /** @type {[HTMLSelectElement, string][]} */ ([
      [this.#model, draft.model],
      [this.#mode, draft.mode],
      [this.#profile, draft.policy],
    ])) {
      if (value && [...select.options].some((option) => option.value === value)) select.value = value;
    }
  }
}

/** @param {HTMLSelectElement} select @param {string | null | undefined} name */
function nameDefault(select, name) {
  const [first] = select.options;
  if (first) first.textContent = name ? `Default (${name})` : "Default";
}

/**
 * What can be chosen beside the default; what is chosen stays so if it can.
 * @param {HTMLSelectElement} select @param {{ value: string, name: string }[]} choices
 */
function offer(select, choices) {
  const [first] = select.options;
  const chosen = select.value;
  fill(
    select,
    first,
    choices.map(({ value, name }) => h("option", { value }, name)),
  );
  select.value = choices.some(({ value }) => value === chosen) ? chosen : "";
}

/** @param {string} name */
function named(name) {
  return { value: name, name: oneLine(name) };
}

customElements.define("handrail-new-session", HandrailNewSession);
