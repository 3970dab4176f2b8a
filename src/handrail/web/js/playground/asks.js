/**
 * Cards of every kind of ask, in the states that they go through.
 */

/** @import { Card } from "../types.js" */

import { HandrailAsk } from "../asks/ask.js";
import { h, make } from "../dom.js";
import { card, MOMENT } from "./rows.js";

const DIFF = `<table class="diff"><tbody>
<tr class="hunk"><td class="number"></td><td class="number"></td><td class="sign"></td><td class="line">@@ -12,4 +12,5 @@</td></tr>
<tr class="same"><td class="number">12</td><td class="number">12</td><td class="sign"> </td><td class="line">async def test_login(client):</td></tr>
<tr class="removed"><td class="number">13</td><td class="number"></td><td class="sign">−</td><td class="line">    await asyncio.<del>sleep(1)</del></td></tr>
<tr class="added"><td class="number"></td><td class="number">13</td><td class="sign">+</td><td class="line">    await client.<ins>refreshed.wait()</ins></td></tr></tbody></table>`;

const PLAN = [
  { html: "<h2>Make the login test steady</h2>", text: "## Make the login test steady" },
  {
    html: "<p>The test sleeps for a second and hopes. It should wait for the refresh instead.</p>",
    text: "The test sleeps for a second and hopes.",
  },
  {
    html: "<ol><li>Give each test its own cache</li><li>Wait for the refresh event</li><li>Run it 50 times</li></ol>",
    text: "1. Give each test its own cache",
  },
];

/** @type {{ title: string, card: Partial<Card> }[]} */
const KINDS = [
  { title: "command", card: {} },
  {
    title: "change of a file",
    card: {
      tool: "Edit",
      title: "Change tests/test_login.py",
      flags: [],
      risk: "low",
      what: { type: "change", path: "tests/test_login.py", outcome: "update", added: 1, removed: 1, diff_html: DIFF },
      suggestions: [],
    },
  },
  {
    title: "web request",
    card: {
      tool: "WebFetch",
      title: "Fetch a page",
      risk: "medium",
      flags: [{ words: "network", level: "medium" }],
      what: { type: "fetch", url: "https://docs.example.org/fixtures" },
      paths: [],
    },
  },
  {
    title: "call of an MCP tool",
    card: {
      tool: "mcp__github__create_issue",
      title: "Call create_issue",
      agent: "reviewer",
      risk: "medium",
      flags: [],
      paths: [],
      what: { type: "call", tool: "create_issue", server: "github" },
      fields: [{ name: "title", html: "Login test is flaky", text: "Login test is flaky" }],
    },
  },
  {
    title: "plan",
    card: {
      kind: "plan",
      tool: "ExitPlanMode",
      title: "Plan review",
      flags: [],
      paths: [],
      risk: "low",
      what: {
        type: "plan",
        html: PLAN.map(({ html }) => html).join(""),
        text: PLAN.map(({ text }) => text).join("\n\n"),
        blocks: PLAN,
      },
      plan_choices: [
        { id: "accept-edits", label: "accept edits", needs: null, answer: { type: "approve_plan", mode: "acceptEdits" } },
        { id: "ask-edits", label: "ask for each edit", needs: null, answer: { type: "approve_plan", mode: "default" } },
        { id: "outline", label: "outline first", needs: null, answer: { type: "outline_plan" } },
      ],
    },
  },
  {
    title: "entering plan mode",
    card: {
      kind: "enter_plan",
      tool: "EnterPlanMode",
      title: "Go into plan mode",
      flags: [],
      paths: [],
      risk: "low",
      what: { type: "call", tool: "EnterPlanMode" },
    },
  },
  {
    title: "questions",
    card: {
      kind: "question",
      tool: "AskUserQuestion",
      title: "Claude has 2 questions",
      flags: [],
      paths: [],
      risk: "low",
      what: {
        type: "questions",
        questions: [
          {
            text: "Which database should the tests use?",
            header: "Database",
            options: [
              { label: "SQLite", description: "In memory, quick" },
              { label: "PostgreSQL", description: "As in production" },
            ],
          },
          {
            text: "Which checks should run?",
            header: "Checks",
            multi_select: true,
            options: [{ label: "Types" }, { label: "Lint" }, { label: "Tests" }],
          },
        ],
      },
    },
  },
  {
    title: "form",
    card: {
      kind: "elicitation",
      title: "github asks for details",
      flags: [],
      paths: [],
      risk: "low",
      what: {
        type: "form",
        server: "github",
        message: "Which repository?",
        form_fields: [
          { name: "repository", title: "Repository", kind: "text", required: true },
          { name: "private", title: "Private", kind: "boolean" },
        ],
      },
    },
  },
  {
    title: "budget",
    card: {
      kind: "budget",
      title: "The budget of $5.00 is used up",
      tool: "",
      flags: [],
      paths: [],
      risk: "low",
      what: { type: "call", tool: "budget" },
      fields: [{ name: "spent_usd", html: "5.02", text: "5.02" }],
    },
  },
  {
    title: "lost, still to be answered",
    card: { state: "lost", note: "the process ended; answering will resume it", resumes: true, answerable: true },
  },
  {
    title: "on a host that is away",
    card: { host: "h1", host_name: "build-box", host_state: "away" },
  },
  {
    title: "a change that cannot be compared",
    card: {
      tool: "Write",
      title: "Write a file",
      what: {
        type: "change",
        path: "/srv/shop/greet.py",
        outcome: "unknown",
        outcome_words: "cannot be compared with what is there",
        added: 0,
        removed: 0,
        diff_html: "",
        text_html: '<pre class="code">print("Hello")</pre>',
        notes: ["Claude Code runs where its files cannot be seen from here: no diff can be shown"],
      },
    },
  },
  {
    title: "answered elsewhere",
    card: {
      state: "sent",
      closed: { outcome: "decided", by: "grace", surface: "cli", at: MOMENT - 3, words: "Allowed once" },
    },
  },
];

export function askScenes() {
  return KINDS.map(({ title, card: more }, index) => ({
    title: `Ask: ${title}`,
    element: h(
      "div",
      { class: "column" },
      make(HandrailAsk, {
        card: card({ ask_id: `card-${index}`, digest: `digest-${index}`, ...more }),
        inSession: false,
      }),
    ),
  }));
}
