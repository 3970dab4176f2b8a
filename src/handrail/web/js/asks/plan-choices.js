/**
 * The ways to approve a plan, in words: each says what happens next.
 */

/** @import { Answer, Card, PlanChoice } from "../types.js" */

/** @type {Record<string, { words: string, hint: string }>} */
const WORDS = {
  "accept-edits": {
    words: "accept edits",
    hint: "Claude carries out the plan; edits of files in the project are not asked.",
  },
  "ask-edits": {
    words: "ask for each edit",
    hint: "Claude carries out the plan and asks before each edit and command.",
  },
  fresh: {
    words: "fresh context",
    hint: "A new conversation carries out the plan and knows nothing else; edits are accepted.",
  },
  compact: { words: "compact first", hint: "What was said so far is summed up to make room; edits are accepted." },
  bypass: { words: "bypass permissions", hint: "Claude carries out the plan, and NOTHING is asked any more." },
  "fresh-bypass": {
    words: "fresh context, bypass permissions",
    hint: "A new conversation carries out the plan, and NOTHING is asked there.",
  },
  yes: { words: "go on", hint: "Claude leaves plan mode and asks before each edit and command." },
};

/** In the order of the menu: the usual first. */
const ORDER = ["accept-edits", "ask-edits", "fresh", "compact", "yes", "bypass", "fresh-bypass"];

/** @param {Card} card @returns {PlanChoice[]} */
export function approvals(card) {
  const place = (/** @type {PlanChoice} */ { id }) => (ORDER.indexOf(id) + 100) % 100;
  return (card.plan_choices ?? [])
    .filter((choice) => isApproval(choice) && !choice.needs)
    .sort((a, b) => place(a) - place(b));
}

/** @param {PlanChoice} choice */
export function describe(choice) {
  return WORDS[choice.id] ?? { words: choice.label, hint: "" };
}

/** @param {PlanChoice} choice */
export function isBypass(choice) {
  return choice.answer.mode === "bypassPermissions";
}

/** @param {PlanChoice} choice */
function isApproval(choice) {
  return choice.answer.type.startsWith("approve_");
}

/**
 * The answer that approves `plan` instead of Claude's. Where this CLI takes no edited plan, only a fresh start carries
 * it out, which the hub's own choice for edits says.
 * @param {Card} card @param {PlanChoice} chosen @param {string} plan @returns {Answer}
 */
export function edited(card, chosen, plan) {
  const forEdits = (card.plan_choices ?? []).find(({ needs }) => needs === "plan");
  const needsFreshStart = forEdits && forEdits.answer.type !== "approve_plan";
  return { ...(needsFreshStart ? forEdits.answer : chosen.answer), plan };
}
