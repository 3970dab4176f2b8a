/**
 * Giving an answer to an ask: sent with the digest of what was shown, so that it cannot be taken for an answer to
 * anything else.
 */

/** @import { Answer, Card } from "../types.js" */
/** @import { Api } from "../api.js" */
/** @import { Home } from "../home.js" */
/** @import { Live } from "../live.js" */

import { inWords, Problem } from "../api.js";
import { now } from "../format.js";
import { askKey } from "../home.js";
import { isReachable } from "../hosts/words.js";
import { Store } from "../store.js";
import { isOpen } from "./head.js";

/**
 * `unheard`: the hub was out of reach, so it may or may not know of it; `away`: the session's host was.
 * @typedef {{ state: "refused", words: string, unheard: boolean, away: boolean }} Refused
 * @typedef {{ state: "sending", words: string } | Refused} Attempt
 */

export class Answering {
  /** What is on its way, or was refused, by the ask's key. @type {Store<Map<string, Attempt>>} */
  attempts = new Store(new Map());
  #api;
  #home;
  #live;

  /** @param {Api} api @param {Home} home @param {Live} live */
  constructor(api, home, live) {
    this.#api = api;
    this.#home = home;
    this.#live = live;
    // What is shown then is what the hub knows: nothing needs to be said about an answer that it never got.
    live.connection.watch((connection) => connection === "open" && this.#forget(({ unheard }) => unheard));
    home.asks.watch((asks) => this.#forget(({ away }, key) => away && isReachable(asks.get(key))));
  }

  /** @param {Card} card @returns {Attempt | undefined} */
  attempt(card) {
    return this.attempts.value.get(askKey(card.session, card.ask_id));
  }

  /**
   * Answer `card`. Gives whether the answer was taken; if not, the attempt says why.
   * @param {Card} card
   * @param {Answer} answer
   * @param {string} words what is being done, while it is ("Allowing…")
   */
  async answer(card, answer, words) {
    const key = askKey(card.session, card.ask_id);
    if (this.attempts.value.get(key)?.state === "sending") return false;
    const resume = card.resumes ?? ["lost", "unsent"].includes(card.state);
    this.#set(key, { state: "sending", words: [words, ...meanwhile(card, resume)].join(" ") });
    try {
      const reply = await this.#api.post(addressOf(card), {
        digest: card.digest,
        answer,
        ...(resume && { resume }),
      });
      this.#taken(card, answer, reply);
      return true;
    } catch (error) {
      await this.#refused(card, error);
      return false;
    }
  }

  /** Take what was refused off the card. @param {Card} card */
  dismiss(card) {
    this.#set(askKey(card.session, card.ask_id), null);
  }

  /** @param {Card} card @param {Answer} answer @param {any} reply */
  #taken(card, answer, reply) {
    const by = this.#live.me.value?.name ?? "you";
    const closed = reply?.closed ?? { outcome: "decided", by, surface: "web", at: now(), words: wordsFor(answer) };
    this.#home.close({ session: card.session, ask: card.ask_id, ...closed, mine: true });
    this.#set(askKey(card.session, card.ask_id), null);
  }

  /** @param {Card} card @param {unknown} error */
  async #refused(card, error) {
    const key = askKey(card.session, card.ask_id);
    const words = inWords(error);
    const unheard = error instanceof Problem && error.code === "unreachable";
    const away = error instanceof Problem && error.code === "host_away";
    const safe = unheard
      ? " For an ask that is safe: the first answer counts."
      : away
        ? " Nothing is lost: try again when it is back."
        : "";
    this.#set(key, { state: "refused", words: sentence(words) + safe, unheard, away });
    // Somebody may have been faster, or the ask may have changed: show what is true now.
    if (error instanceof Problem && [404, 409, 410].includes(error.status)) await this.#reload(card);
  }

  /** @param {Card} card */
  async #reload(card) {
    try {
      const current = await this.#api.get(addressOf(card, ""));
      this.#home.receive({ type: "home", reset: false, asks: [current] });
      if (isOpen(current)) return;
      this.#home.close({ session: card.session, ask: card.ask_id, ...current.closed, late: true });
      this.dismiss(card);
    } catch {
      // The refusal has been said; there is nothing newer to show.
    }
  }

  /** What has become pointless to say. @param {(refused: Refused, key: string) => boolean} which */
  #forget(which) {
    for (const [key, attempt] of [...this.attempts.value])
      if (attempt.state === "refused" && which(attempt, key)) this.#set(key, null);
  }

  /** @param {string} key @param {Attempt | null} attempt */
  #set(key, attempt) {
    if (attempt) this.attempts.value.set(key, attempt);
    else this.attempts.value.delete(key);
    this.attempts.changed();
  }
}

/** Why it may take a while. @param {Card} card @param {boolean} resume */
function* meanwhile(card, resume) {
  if (resume) yield "The session is resumed first.";
  if (card.host_state === "away") yield `${card.host_name} is away, and is given a moment to come back.`;
}

/** @param {string} words */
function sentence(words) {
  return /[.!?…]$/.test(words) ? words : `${words}.`;
}

/** @param {Card} card @param {string} [action] */
function addressOf(card, action = "/answer") {
  return `/api/asks/${encodeURIComponent(card.session)}/${encodeURIComponent(card.ask_id)}${action}`;
}

/** @type {Record<string, string>} */
const WORDS = {
  allow: "allowed",
  deny: "denied",
  answers: "answered",
  elicited: "answered",
  dialog_result: "answered",
  approve_plan: "plan approved",
  approve_in_fresh_context: "plan approved, in a fresh context",
  revise_plan: "plan sent back with changes",
  outline_plan: "plan paused for an outline",
  reject_plan: "plan rejected",
  enter_plan: "plan mode entered",
  implement_now: "told to go on without a plan",
};

/** What was answered, until the hub says it in its own words. @param {Answer} answer */
export function wordsFor(answer) {
  if (answer.type === "elicited" && answer.action !== "accept")
    return answer.action === "decline" ? "declined" : "cancelled";
  return WORDS[answer.type] ?? "answered";
}
