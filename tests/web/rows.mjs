/** Rows of a session, as the hub would send them. */

export function row(seq, type, more = {}) {
  return { key: String(seq), seq, at: seq, run: 1, parent: null, type, ...more };
}

export function action(seq, group = "read", more = {}) {
  return row(seq, "action", { kind: "tool", tool: "Read", title: "", phase: "completed", ok: true, group, ...more });
}
