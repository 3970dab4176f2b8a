/**
 * The hub's HTTP API. Whatever goes wrong is a `Problem`, whose `words` can be shown to a person as they are.
 */

/** @import { Json } from "./types.js" */

const TRIES = 3;
const PAUSE_MS = 400;

/** Something that the hub refused, or that did not reach it. */
export class Problem extends Error {
  /**
   * @param {string} words what happened, what is safe, what to do
   * @param {{ code?: string, status?: number, title?: string, body?: Record<string, Json> }} [more]
   */
  constructor(words, { code = "unknown", status = 0, title = "", body = {} } = {}) {
    super(words);
    this.name = "Problem";
    this.words = words;
    /** Stable, for programs. */
    this.code = code;
    this.status = status;
    this.title = title;
    /** The whole problem document. */
    this.body = body;
  }
}

/** What to tell a person about any error. @param {unknown} error */
export function inWords(error) {
  const words = error instanceof Problem ? error.words : error instanceof Error ? error.message : String(error);
  // The hub's own words may go on after a colon; here they are a sentence.
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * `key` is the idempotency key; null for the few calls whose answer is a secret, which the hub does not keep: they are
 * not tried again.
 * @typedef {Record<string, string | number | boolean | null | undefined>} Query
 * @typedef {{ query?: Query, signal?: AbortSignal, key?: string | null }} Extras
 */

export class Api {
  #signedOut;

  /** @param {{ signedOut?: () => void }} [on] `signedOut` is called when the hub does not know us (any more). */
  constructor({ signedOut = () => {} } = {}) {
    this.#signedOut = signedOut;
  }

  /** @param {string} path @param {Extras} [extras] @returns {Promise<any>} */
  get(path, extras) {
    return this.#call("GET", path, undefined, extras);
  }

  /** @param {string} path @param {unknown} [body] @param {Extras} [extras] @returns {Promise<any>} */
  post(path, body, extras) {
    return this.#call("POST", path, body, extras);
  }

  /** @param {string} path @param {unknown} [body] @param {Extras} [extras] @returns {Promise<any>} */
  put(path, body, extras) {
    return this.#call("PUT", path, body, extras);
  }

  /** @param {string} path @param {unknown} [body] @param {Extras} [extras] @returns {Promise<any>} */
  patch(path, body, extras) {
    return this.#call("PATCH", path, body, extras);
  }

  /** @param {string} path @param {Extras} [extras] @returns {Promise<any>} */
  delete(path, extras) {
    return this.#call("DELETE", path, undefined, extras);
  }

  /**
   * One call. The same key goes with every try, so that trying again cannot do a thing twice.
   * @param {string} method @param {string} path @param {unknown} body @param {Extras} [extras]
   */
  async #call(method, path, body, { query, signal, key = crypto.randomUUID() } = {}) {
    const request = { method, headers: headersFor(method, body, key), signal, ...contentOf(body) };
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once(withQuery(path, query), request);
      } catch (error) {
        const again = error instanceof Problem && WORTH_ANOTHER_TRY.has(error.code) && tries < TRIES && key !== null;
        if (!again) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries));
      }
    }
  }

  /** @param {string} url @param {RequestInit} request */
  async #once(url, request) {
    let response;
    try {
      response = await fetch(url, { credentials: "same-origin", cache: "no-store", ...request });
    } catch (error) {
      if (request.signal?.aborted) throw error;
      throw unreachable(request.method ?? "GET");
    }
    if (response.ok) return await contentIn(response);
    const problem = await problemIn(response);
    // A wrong login code is no end of a session.
    if (response.status === 401 && !url.startsWith("/api/login")) this.#signedOut();
    throw problem;
  }
}

const WORTH_ANOTHER_TRY = new Set(["unreachable", "in_progress"]);

/** @param {string} method @param {unknown} body @param {string | null} key @returns {Record<string, string>} */
function headersFor(method, body, key) {
  return {
    Accept: "application/json",
    ...(body !== undefined && { "Content-Type": "application/json" }),
    ...(method !== "GET" && key !== null && { "Idempotency-Key": key }),
  };
}

/** @param {unknown} body @returns {{ body?: string }} */
function contentOf(body) {
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

/** @param {string} path @param {Extras["query"]} query */
function withQuery(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (!given.length) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** @param {Response} response */
async function contentIn(response) {
  if (response.status === 204) return null;
  const text = await response.text();
  const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
  return isJson ? JSON.parse(text) : text;
}

/** @param {Response} response */
async function problemIn(response) {
  /** @type {Record<string, any>} */
  let body = {};
  try {
    body = await response.json();
  } catch {
    // Not ours: a proxy's page, say. Its status is all there is to tell.
  }
  const words = body.detail || body.title || STATUS_WORDS[response.status] || `The hub answered ${response.status}.`;
  return new Problem(String(words), {
    code: String(body.code ?? "unknown"),
    status: response.status,
    title: String(body.title ?? ""),
    body,
  });
}

/** @param {string} method */
function unreachable(method) {
  const safe = method === "GET" ? "" : " What you did may have got through: look before you do it again.";
  return new Problem(`The hub cannot be reached.${safe}`, { code: "unreachable" });
}

/** @type {Record<number, string>} */
const STATUS_WORDS = {
  401: "You are not signed in.",
  403: "Your token does not allow this.",
  404: "There is no such thing here (any more).",
  413: "That is too large.",
  429: "Too many tries. Wait a little, then try again.",
  502: "The hub is behind a proxy that cannot reach it.",
  503: "The hub is starting or stopping. Try again in a moment.",
};
