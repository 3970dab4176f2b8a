/**
 * What a person can have a session do. Each call either happens or throws a `Problem` that says why not.
 */

/** @import { Api } from "../api.js" */
/** @import { Session } from "../types.js" */

/** @typedef {{ media_type: string, data: string }} ImageData64 */

export class Commands {
  #api;
  #path;

  /** @param {Api} api @param {string} id */
  constructor(api, id) {
    this.#api = api;
    this.#path = `/api/sessions/${encodeURIComponent(id)}`;
  }

  /** @param {string} text @param {ImageData64[]} images */
  async send(text, images) {
    const uuid = crypto.randomUUID();
    await this.#api.post(`${this.#path}/messages`, { content: contentOf(text, images), uuid }, { key: uuid });
  }

  /** Take back a message that waits. @param {string} uuid */
  cancel(uuid) {
    return this.#api.delete(`${this.#path}/messages/${encodeURIComponent(uuid)}`);
  }

  /** Interrupt what goes on, and do this message next. @param {string} uuid */
  sendNow(uuid) {
    return this.#api.post(`${this.#path}/messages/${encodeURIComponent(uuid)}/now`);
  }

  interrupt() {
    return this.#api.post(`${this.#path}/interrupt`);
  }

  stop() {
    return this.#api.post(`${this.#path}/stop`);
  }

  resume() {
    return this.#api.post(`${this.#path}/resume`);
  }

  /** @returns {Promise<Session>} */
  fork() {
    return this.#api.post(`${this.#path}/fork`, {});
  }

  /** @param {string} title */
  rename(title) {
    return this.#api.patch(this.#path, { title });
  }

  /** @param {boolean} archived */
  archive(archived) {
    return this.#api.patch(this.#path, { archived });
  }

  delete() {
    return this.#api.delete(this.#path);
  }

  /** @param {string} mode */
  setMode(mode) {
    return this.#control("set_permission_mode", { mode });
  }

  /** @param {string} model */
  setModel(model) {
    return this.#control("set_model", { model });
  }

  /** @param {string} id */
  stopTask(id) {
    return this.#control("stop_task", { task_id: id });
  }

  /** @param {string} name @param {boolean} enabled */
  toggleServer(name, enabled) {
    return this.#control("mcp_toggle", { serverName: name, enabled });
  }

  /** @param {string} name */
  reconnectServer(name) {
    return this.#control("mcp_reconnect", { serverName: name });
  }

  /**
   * Put the files back to how they were before a message; a dry run only says what that would change.
   * @param {string} uuid
   * @param {boolean} dryRun
   * @returns {Promise<Rewound>}
   */
  rewind(uuid, dryRun) {
    return this.#api.post(`${this.#path}/rewind`, { message_uuid: uuid, dry_run: dryRun });
  }

  /** @returns {Promise<{ items: McpServer[] }>} */
  servers() {
    return this.#api.get(`${this.#path}/mcp`);
  }

  /** @returns {Promise<ContextUse>} */
  contextUse() {
    return this.#api.get(`${this.#path}/context`);
  }

  /** @returns {Promise<{ items: { name: string, description?: string, argument_hint?: string }[] }>} */
  slashCommands() {
    return this.#api.get(`${this.#path}/commands`);
  }

  /** @param {string} q @param {AbortSignal} signal @returns {Promise<{ items: { path: string, kind?: string }[] }>} */
  files(q, signal) {
    return this.#api.get(`${this.#path}/files`, { query: { q }, signal });
  }

  /** @param {string} q @param {AbortSignal} signal @returns {Promise<{ items: Hit[], total?: number }>} */
  find(q, signal) {
    return this.#api.get(`${this.#path}/find`, { query: { q }, signal });
  }

  /** Where the session can be downloaded. @param {"markdown" | "html" | "jsonl"} format */
  exportAddress(format) {
    return `${this.#path}/export?format=${format}`;
  }

  /** @param {string} subtype @param {Record<string, unknown>} fields */
  #control(subtype, fields) {
    return this.#api.post(`${this.#path}/control`, { subtype, fields });
  }
}

/** @param {string} text @param {ImageData64[]} images */
function contentOf(text, images) {
  if (images.length === 0) return text;
  const pictures = images.map((image) => ({ type: "image", source: { type: "base64", ...image } }));
  return text ? [...pictures, { type: "text", text }] : pictures;
}

/**
 * @typedef {{ key: string, seq?: number, parent?: string | null, before?: string, match?: string, after?: string }} Hit
 * @typedef {{ name: string, status: string, error?: string | null, tools?: unknown[], enabled?: boolean }} McpServer
 * @typedef {{ total_tokens: number, max_tokens: number, percentage?: number, model?: string,
 *   categories: { name: string, tokens: number }[], auto_compact_threshold?: number | null }} ContextUse
 * @typedef {{ can_rewind: boolean, error?: string | null, files_changed?: string[], insertions?: number | null,
 *   deletions?: number | null }} Rewound
 */
