/**
 * Starting a session: where, with what, and what Claude is to do. Or going on with one that Claude Code keeps.
 */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, make } from "../dom.js";
import { icon } from "../icons.js";
import { sessionPath } from "../router.js";
import { filesIn, HandrailAttachments } from "../session/attachments.js";
import { confirmThen } from "../session/dialogs.js";
import { MODES } from "../session/modes.js";
import { HandrailAdoptable } from "./adoptable.js";
import { HandrailDirectories } from "./directory-picker.js";
import { actButton, choices, field } from "./parts.js";

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

export class HandrailNewSession extends HandrailElement {
  #directories = make(HandrailDirectories);
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
      h("div", { class: "page-body narrow" }, this.#demo, this.#form, this.#existing),
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
    const [hub, models] = await Promise.allSettled([this.page.api.get("/api/hub"), this.page.api.get("/api/models")]);
    if (models.status === "fulfilled") {
      const items = /** @type {{ value: string, name: string }[]} */ (models.value.items);
      this.#model.append(
        ...items.filter(({ value }) => value !== "default").map(({ value, name }) => h("option", { value }, name)),
      );
    }
    if (hub.status === "fulfilled") this.#takeHub(hub.value);
    this.#restore();
  }

  /** @param {HubInfo} hub */
  #takeHub(hub) {
    this.#profile.append(...(hub.profiles ?? []).map((name) => h("option", { value: name }, name)));
    nameDefault(this.#profile, hub.default_profile);
    nameDefault(this.#model, hub.default_model);
    nameDefault(this.#mode, MODES.find(({ mode }) => mode === hub.default_mode)?.words);
    this.#demo.hidden = !hub.demo_offered;
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
      const session = await this.page.api.post("/api/sessions", await this.#wanted());
      this.page.drafts.drop(DRAFT);
      this.page.router.go(sessionPath(session.id));
    } catch (error) {
      this.#say(`The session was not started. ${inWords(error)}`);
    }
    this.#starting = false;
    this.render();
  }

  async #wanted() {
    const worktree = this.#worktree.value.trim();
    const images = await this.#attachments.contents();
    return {
      cwd: this.#directories.value,
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
      model: this.#model.value,
      mode: this.#mode.value,
      policy: this.#profile.value,
    });
  }

  #restore() {
    const draft = this.page.drafts.get(DRAFT);
    if (!draft) return;
    this.#prompt.value ||= draft.prompt ?? "";
    if (!this.#directories.value && draft.cwd) this.#directories.value = draft.cwd;
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
  if (first && name) first.textContent = `Default (${name})`;
}

customElements.define("handrail-new-session", HandrailNewSession);
