/**
 * Every kind of row in every state, for looking at and for screenshots. Times count back from a fixed moment, so that
 * two pictures of the same thing are the same.
 */

/** @import { ActionRow, Card, Row, SessionState } from "../types.js" */

/** The moment at which all of this happens. */
export const MOMENT = Date.UTC(2026, 0, 15, 10, 30) / 1000;

let last = 0;

/**
 * @template {Record<string, unknown>} T
 * @param {T} fields
 * @returns {any}
 */
function row(fields) {
  last += 1;
  return { key: `play-${last}`, seq: last, at: MOMENT - 600 + last * 7, run: 1, parent: null, ...fields };
}

/** @param {Partial<ActionRow>} fields @returns {ActionRow} */
function action(fields) {
  const made = row({
    type: "action",
    kind: "tool",
    tool: "Read",
    title: "src/login.py",
    phase: "completed",
    ok: true,
    summary: "",
    group: "read",
    children: 0,
    ...fields,
  });
  return { ended_at: made.phase === "completed" ? made.at + 1.4 : null, ...made };
}

/** @param {Partial<Card>} [more] @returns {Card} */
export function card(more = {}) {
  return {
    session: "playground",
    session_title: "Playground",
    ask_id: "ask-1",
    digest: "d1",
    kind: "permission",
    tool: "Bash",
    title: "Run a command",
    opened_at: MOMENT - 95,
    state: "pending",
    purpose: "Run the login tests",
    reasons: ["No rule covers it"],
    flags: [{ words: "deletes recursively", where: "build", level: "high" }],
    risk: "high",
    what: {
      type: "command",
      html: '<pre class="code"><code>rm -rf build &amp;&amp; pytest -x tests/test_login.py</code></pre>',
      text: "rm -rf build && pytest -x tests/test_login.py",
    },
    fields: [],
    paths: [{ path: "build", access: "delete", inside_project: true }],
    cwd: "/home/ada/api",
    suggestions: [{ words: "Bash(pytest:*) in this session", permission: {} }],
    input: { command: "rm -rf build && pytest -x tests/test_login.py" },
    ...more,
  };
}

/** @returns {{ title: string, rows: Row[] }[]} */
export function scenes() {
  last = 0;
  return [
    { title: "Messages", rows: messages() },
    { title: "Thoughts", rows: thoughts() },
    { title: "Calls", rows: calls() },
    { title: "Subagents", rows: subagents() },
    { title: "Asks", rows: asks() },
    { title: "Notices and ends", rows: notices() },
  ];
}

/** @returns {Row[]} */
function messages() {
  const prompt = (/** @type {object} */ more) =>
    row({
      type: "prompt",
      text: "Fix the flaky login test",
      html: "<p>Fix the flaky login test</p>",
      uuid: `u${last}`,
      state: "answered",
      by: "owner",
      surface: "web",
      ...more,
    });
  return [
    prompt({}),
    prompt({ state: "queued" }),
    prompt({ state: "lost", by: "ada", surface: "cli", reason: "the CLI ended" }),
    prompt({ state: "dropped", reason: "cancelled" }),
    row({
      type: "text",
      block: "b1",
      html: '<div class="prose"><p>The cause is a <strong>shared fixture</strong>:</p><ul><li>it is made once per session</li><li>the loop is closed after the first test</li></ul><pre class="code"><code>async def test_login(client): ...</code></pre></div>',
    }),
    row({ type: "text", block: "b2", partial: true, html: '<div class="prose"><p>And then I would</p></div>' }),
  ];
}

/** @returns {Row[]} */
function thoughts() {
  return [
    row({
      type: "thinking",
      block: "t1",
      html: '<div class="prose"><p>The fixture looks shared. I should check its scope before I change the test.</p></div>',
    }),
    row({ type: "thinking", block: "t2", redacted: true, html: "" }),
    row({ type: "thinking", block: "t3", partial: true, html: "<p>Perhaps</p>" }),
  ];
}

/** @returns {Row[]} */
function calls() {
  const said = (/** @type {string} */ words) => row({ type: "text", block: `c${last}`, html: `<p>${words}</p>` });
  return [
    said("A run of calls that is over."),
    action({}),
    action({ title: "tests/test_login.py", summary: "84 lines" }),
    action({ tool: "Grep", group: "search", title: "expires_at" }),
    action({ tool: "Bash", kind: "command", group: "command", title: "pytest -x", summary: "exit 0" }),
    said("One of them failed."),
    action({}),
    action({ tool: "Bash", kind: "command", group: "command", title: "make lint", ok: false, summary: "exit 2" }),
    said("One goes on."),
    action({}),
    action({
      tool: "Bash",
      kind: "command",
      group: "command",
      title: "pytest -x tests/test_login.py --count 50",
      phase: "started",
      ok: null,
    }),
    said("Calls that stand alone."),
    action({ tool: "Edit", kind: "file_change", group: "edit", title: "tests/test_login.py", summary: "+6 −2" }),
    action({
      tool: "Write",
      kind: "file_change",
      group: "edit",
      title: "docs/a/rather/long/path/that/does/not/fit/on/a/phone/at/all/login-flow-explained.md",
      summary: "+120",
    }),
    action({
      tool: "Edit",
      kind: "file_change",
      group: "edit",
      title: "src/login.py",
      ok: false,
      summary: "not found",
    }),
    action({
      tool: "WebFetch",
      kind: "web_search",
      group: "web",
      title: "https://docs.example.org/fixtures",
      summary: "200",
    }),
    action({ kind: "warning", tool: "", title: "A hook took 12 seconds", group: "other" }),
    action({ kind: "note", tool: "", title: "Switched to the project's settings", group: "other" }),
  ];
}

/** @returns {Row[]} */
function subagents() {
  const done = action({
    kind: "subagent",
    tool: "Task",
    group: "task",
    title: "Explore: who uses the login cache",
    summary: "6 calls · 12 k tokens",
    children: 2,
  });
  const inside = { parent: done.key };
  const running = action({
    kind: "subagent",
    tool: "Task",
    group: "task",
    title: "Review the change",
    phase: "updated",
    ok: null,
    children: 1,
  });
  return [
    done,
    row({ type: "text", block: "s1", html: "<p>Two places use it.</p>", ...inside }),
    action({ tool: "Grep", group: "search", title: "session_cache", ...inside }),
    action({ title: "src/cache.py", ...inside }),
    running,
    action({ kind: "subagent", tool: "Task", group: "task", title: "Port the tests", ok: false, summary: "stopped" }),
  ];
}

/** @returns {Row[]} */
function asks() {
  const closed = (/** @type {string} */ outcome, /** @type {string} */ words) => ({
    outcome,
    by: "ada",
    surface: "cli",
    at: MOMENT - 20,
    words,
  });
  return [
    row({ type: "ask", ask_id: "ask-1", outcome: null, card: card() }),
    row({
      type: "ask",
      ask_id: "ask-2",
      outcome: "decided",
      card: card({ ask_id: "ask-2", digest: "d2", state: "sent", closed: closed("decided", "Allowed once") }),
    }),
    row({
      type: "ask",
      ask_id: "ask-3",
      outcome: "decided",
      card: card({
        ask_id: "ask-3",
        digest: "d3",
        state: "sent",
        closed: closed("decided", "Denied: use the Makefile"),
      }),
    }),
    row({
      type: "ask",
      ask_id: "ask-4",
      outcome: "cancelled",
      card: card({
        ask_id: "ask-4",
        digest: "d4",
        state: "cancelled",
        closed: closed("cancelled", "Claude took it back"),
      }),
    }),
    row({
      type: "ask",
      ask_id: "ask-5",
      outcome: "expired",
      card: card({
        ask_id: "ask-5",
        digest: "d5",
        state: "expired",
        closed: closed("expired", "Nobody answered in time"),
      }),
    }),
  ];
}

/** @returns {Row[]} */
function notices() {
  const notice = (/** @type {string} */ kind, /** @type {string} */ text, /** @type {boolean | null} */ ok = null) =>
    row({ type: "notice", kind, text, ok });
  return [
    notice("compacted", "The conversation was compacted: 168 k → 24 k tokens"),
    notice("mode_changed", "Mode: default → plan"),
    notice("model_changed", "Model: sonnet → opus"),
    notice("api_retry", "The API failed (529 overloaded): try 2 of 10 in 4 s", false),
    notice("rate_limit", "87 % of the five-hour limit is used"),
    notice("process_exited", "The process ended with exit code 1", false),
    row({ type: "end", ok: true, cost_usd: 0.42, duration_ms: 84_000, turns: 7 }),
    row({ type: "end", ok: false, error: "API error 529: overloaded", cost_usd: 0, duration_ms: 1200, turns: 1 }),
  ];
}

/** @param {Partial<SessionState>} [more] @returns {SessionState} */
export function state(more = {}) {
  return {
    status: "running",
    title: "Playground",
    cwd: "/home/ada/api",
    model: "claude-opus-4-5",
    mode: "default",
    cli_version: "2.1.325",
    resume: null,
    context: { tokens: 76_000, window: 200_000 },
    cost_usd: 0.42,
    run: { number: 3, started_at: MOMENT - 42 },
    running: [],
    retry: null,
    compacting: false,
    exited: null,
    live: true,
    owner: "here",
    queued: [],
    tasks: [],
    rate_limits: [],
    mcp: [],
    slash_commands: [],
    asks: ["ask-1"],
    ...more,
  };
}
