/**
 * What decides before a person is asked: rules and where they come from, what becomes of a call, and rules that past
 * answers suggest.
 */

import { inWords } from "../api.js";
import { fill, h, HandrailElement, make } from "../dom.js";
import { ago, counted } from "../format.js";
import { icon } from "../icons.js";
import { confirmThen } from "../session/dialogs.js";
import { HandrailExplain } from "./explain.js";
import { actButton, section } from "./parts.js";
import { BEHAVIORS, files, heldBack, otherwise, profiles, whence } from "./policy-parts.js";

/** @import { Behavior, Policy, Rule, Suggestions } from "./policy-parts.js" */

export class HandrailPolicy extends HandrailElement {
  /** @type {Policy | null} */ #policy = null;
  /** @type {Suggestions} */
  #suggested = { items: [] };
  #cwd = "";
  #trouble = "";
  #body = h("div", { class: "page-body" });
  #explain = make(HandrailExplain);
  #project = h("select", { "aria-label": "Project", onchange: () => void this.#load(this.#project.value) });

  /** @override */
  mount() {
    fill(
      this,
      h(
        "header",
        { class: "page-head" },
        h("h1", null, "Policy"),
        h("label", { class: "project-choice" }, h("span", { class: "quiet-text" }, "for"), this.#project),
      ),
      this.#body,
    );
    void this.#load("");
    void this.#loadProjects();
  }

  async #loadProjects() {
    fill(this.#project, h("option", { value: "" }, "every project"));
    try {
      const { recent } = await this.page.api.get("/api/directories");
      this.#project.append(
        ...recent.map((/** @type {{ path: string }} */ { path }) => h("option", { value: path }, path)),
      );
    } catch {
      // The rules for every project are there all the same.
    }
  }

  /** @param {string} cwd */
  async #load(cwd) {
    this.#cwd = cwd;
    this.#explain.cwd = cwd;
    this.#trouble = "";
    try {
      this.#policy = await this.page.api.get("/api/policy", { query: { cwd } });
      this.#suggested = await this.page.api.get("/api/policy/suggestions", { query: { cwd } });
    } catch (error) {
      this.#trouble = inWords(error);
    }
    this.update();
  }

  /** @override */
  render() {
    const trouble = this.#trouble && h("p", { class: "problem" }, this.#trouble);
    if (this.#policy) return fill(this.#body, trouble, this.#sections(this.#policy));
    const loading = h("p", { class: "quiet-text" }, h("span", { class: "spinner" }), " Loading the policy…");
    fill(this.#body, trouble || loading);
  }

  /** @param {Policy} policy */
  #sections(policy) {
    return [
      heldBack(policy),
      section("Try a call", "What would become of it, and which rule says so. Nothing runs.", this.#explain),
      this.#suggestions(),
      section(
        "Rules",
        `Denying wins over asking, and asking over allowing. What no rule covers is ${otherwise(policy)}.`,
        BEHAVIORS.map((kind) => this.#rulesOf(kind, policy.rules)),
        this.page.may("owner") && this.#addForm(),
        h(
          "ul",
          { class: "policy-notes quiet-text" },
          policy.notes.map((note) => h("li", null, note)),
        ),
      ),
      section("Profile", "", profiles(policy)),
      files(policy),
    ];
  }

  /** @param {typeof BEHAVIORS[number]} kind @param {Rule[]} all */
  #rulesOf({ behavior, words, tone, icon: sign }, all) {
    const rules = all.filter((rule) => rule.behavior === behavior);
    if (rules.length === 0) return null;
    return h(
      "div",
      { class: "rule-group" },
      h(
        "h3",
        null,
        h("span", { class: "chip", "data-tone": tone }, icon(sign), words),
        h("span", { class: "quiet-text num" }, rules.length),
      ),
      h(
        "ul",
        { class: "rule-list" },
        rules.map((rule) =>
          h(
            "li",
            { "data-rule": rule.rule },
            h("code", null, rule.rule),
            h("span", { class: "quiet-text" }, whence(rule)),
            rule.removable &&
              this.page.may("owner") &&
              h(
                "button",
                {
                  class: "icon-button",
                  "aria-label": `Remove the rule ${rule.rule}`,
                  onclick: () => void this.#remove(rule),
                },
                icon("trash"),
              ),
          ),
        ),
      ),
    );
  }

  /** @param {Rule} rule */
  #remove(rule) {
    return confirmThen({
      title: "Remove this rule?",
      body: [
        h("p", null, h("code", null, rule.rule)),
        h("p", { class: "quiet-text" }, "Sessions that run obey the change from their next call on."),
      ],
      action: "Remove rule",
      danger: true,
      run: async () =>
        this.#take(
          await this.page.api.delete("/api/policy/rules", {
            query: {
              behavior: rule.behavior,
              rule: rule.rule,
              scope: rule.scope ?? "user",
              granted: rule.granted ?? false,
              cwd: this.#cwd,
            },
          }),
        ),
    });
  }

  /** @param {Behavior} behavior @param {string} rule @param {string} scope */
  async #add(behavior, rule, scope) {
    this.#take(
      await this.page.api.put("/api/policy/rules", { behavior, rule, scope, ...(this.#cwd && { cwd: this.#cwd }) }),
    );
  }

  /** @param {Policy | null} policy */
  #take(policy) {
    if (policy) this.#policy = policy;
    this.update();
  }

  #addForm() {
    const rule = h("input", {
      type: "text",
      class: "mono",
      placeholder: "Bash(git push:*)",
      "aria-label": "Rule",
      required: true,
      autocapitalize: "off",
      spellcheck: "false",
    });
    const behavior = h(
      "select",
      { "aria-label": "What it does" },
      ["allow", "ask", "deny"].map((each) => h("option", { value: each }, each)),
    );
    const scope = h(
      "select",
      { "aria-label": "Where" },
      h("option", { value: "user" }, "every project"),
      this.#cwd && h("option", { value: "project" }, "this project"),
    );
    return h(
      "div",
      { class: "add-rule" },
      behavior,
      rule,
      scope,
      actButton({
        label: [icon("plus"), "Add rule"],
        doing: "Adding…",
        run: async () => {
          if (!rule.value.trim()) throw new Error("Write the rule first, for example Bash(git status).");
          await this.#add(/** @type {Behavior} */ (behavior.value), rule.value.trim(), scope.value);
        },
      }),
    );
  }

  #suggestions() {
    const { items, left = [] } = this.#suggested;
    if (items.length === 0 && left.length === 0) return null;
    return section(
      "Suggested from your answers",
      "You always answered these the same way.",
      h(
        "ul",
        { class: "rule-list" },
        items.map((each) =>
          h(
            "li",
            null,
            h(
              "div",
              null,
              h("code", null, each.rule),
              h(
                "p",
                { class: "quiet-text" },
                each.words || counted(each.times, "time"),
                each.last_at ? `, last ${ago(each.last_at)}` : "",
              ),
            ),
            this.page.may("owner") &&
              actButton({
                label: [icon("plus"), "Allow from now on"],
                doing: "Adding…",
                name: `Add the rule ${each.rule}`,
                run: async () => {
                  await this.#add("allow", each.rule, "user");
                  this.#suggested = {
                    ...this.#suggested,
                    items: this.#suggested.items.filter((other) => other !== each),
                  };
                },
              }),
          ),
        ),
      ),
      left.length > 0 &&
        h(
          "details",
          { class: "left-out" },
          h("summary", null, `${counted(left.length, "kind")} of call better asked each time`),
          h(
            "ul",
            null,
            left.map(({ tool, words, why }) =>
              h("li", null, h("code", null, tool), ` ${words}: `, h("span", { class: "quiet-text" }, why)),
            ),
          ),
        ),
    );
  }
}

customElements.define("handrail-policy", HandrailPolicy);
