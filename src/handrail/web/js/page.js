/**
 * What the whole page shares. It is made once, by <handrail-app>, which owns it; elements reach it as `this.page`.
 */

/** @import { Role } from "./types.js" */

import { Api } from "./api.js";
import { Answering } from "./asks/answering.js";
import { Drafts } from "./drafts.js";
import { Home } from "./home.js";
import { Keys } from "./keys.js";
import { Live } from "./live.js";
import { Notifier } from "./notify.js";
import { Router } from "./router.js";

/** @type {Record<Role, number>} */
const RANK = { viewer: 0, approver: 1, owner: 2 };

export class PageContext {
  constructor() {
    this.api = new Api({ signedOut: () => this.live.stop() });
    this.live = new Live({ stillSignedIn: () => this.#stillSignedIn() });
    this.router = new Router();
    this.keys = new Keys();
    this.home = new Home();
    this.drafts = new Drafts();
    this.notifier = new Notifier(this.home, this.router);
    this.answering = new Answering(this.api, this.home, this.live);
  }

  /** Whether this person may do what `role` may. @param {Role} role */
  may(role) {
    const mine = this.live.me.value?.role;
    return mine !== undefined && RANK[mine] >= RANK[role];
  }

  async #stillSignedIn() {
    try {
      await this.api.get("/api/me");
      return true;
    } catch (error) {
      return !(error instanceof Error && Reflect.get(error, "status") === 401);
    }
  }
}
