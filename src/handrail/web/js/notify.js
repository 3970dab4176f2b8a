/**
 * Telling a person who looks elsewhere: the count in the title and the favicon, a notification, and words for screen
 * readers.
 */

/** @import { Card } from "./types.js" */
/** @import { Home } from "./home.js" */
/** @import { Router } from "./router.js" */

import { counted } from "./format.js";
import { sessionPath } from "./router.js";
import { Store } from "./store.js";

const SIZE = 64;
const WANTED = "handrail.notifications";

export class Notifier {
  /** What the page is about, without the count. */
  #subject = "Handrail";
  #count = 0;
  #home;
  #router;
  /** Whether notifications are shown: the person wants them, and the browser lets us. */
  on = new Store(false);

  /** @param {Home} home @param {Router} router */
  constructor(home, router) {
    this.#home = home;
    this.#router = router;
    this.on.set(wanted() && allowed());
    home.asks.watch((asks) => this.#showCount(asks.size));
    home.onNewAsk((card) => this.#newAsk(card));
  }

  /** @param {string} subject */
  subject(subject) {
    this.#subject = subject;
    this.#showTitle();
  }

  /** Ask the browser for leave; must be called from a click. Gives whether notifications are on. */
  async enable() {
    if (!("Notification" in window)) return false;
    const leave = await Notification.requestPermission();
    localStorage.setItem(WANTED, "yes");
    this.on.set(leave === "granted");
    return this.on.value;
  }

  disable() {
    localStorage.removeItem(WANTED);
    this.on.set(false);
  }

  /** Say something to screen readers. @param {string} words */
  announce(words) {
    const region = document.getElementById("announcements");
    if (!region) return;
    // Emptied first, so that the same words twice are read twice.
    region.textContent = "";
    setTimeout(() => (region.textContent = words), 50);
  }

  /** @param {Card} card */
  #newAsk(card) {
    const words = askInWords(card);
    this.announce(`Needs you: ${words}. ${counted(this.#home.asks.value.size, "ask")} waiting.`);
    if (this.on.value && document.hidden) void this.#notify(card, words);
  }

  /** @param {Card} card @param {string} words */
  async #notify(card, words) {
    /** @type {NotificationOptions} */
    const options = {
      body: card.session_title ?? "",
      tag: card.ask_id,
      icon: "/web/icons/icon-192.png",
      data: sessionPath(card.session),
    };
    const worker = await navigator.serviceWorker?.getRegistration();
    // On phones a page may not show one itself.
    if (worker) return worker.showNotification(`Needs you: ${words}`, options);
    const shown = new Notification(`Needs you: ${words}`, options);
    shown.onclick = () => {
      window.focus();
      this.#router.go(sessionPath(card.session));
      shown.close();
    };
  }

  /** @param {number} count */
  #showCount(count) {
    if (count === this.#count) return;
    this.#count = count;
    this.#showTitle();
    drawFavicon(count);
    const app = /** @type {any} */ (navigator);
    if (count) app.setAppBadge?.(count)?.catch?.(() => {});
    else app.clearAppBadge?.()?.catch?.(() => {});
  }

  #showTitle() {
    const name = this.#subject === "Handrail" ? "Handrail" : `${this.#subject} · Handrail`;
    document.title = this.#count ? `(${this.#count}) ${name}` : name;
  }
}

/** An ask in a few words. @param {Card} card */
export function askInWords(card) {
  const where = card.session_title ? ` in ${card.session_title}` : "";
  return `${card.title}${where}${card.host_name ? ` on ${card.host_name}` : ""}`;
}

function allowed() {
  return "Notification" in window && Notification.permission === "granted";
}

function wanted() {
  try {
    return localStorage.getItem(WANTED) === "yes";
  } catch {
    return false;
  }
}

/** The rail, with a number over it when something waits. @param {number} count */
function drawFavicon(count) {
  const link = document.querySelector("link[rel~=icon]");
  if (!(link instanceof HTMLLinkElement)) return;
  if (!count) {
    link.type = "image/svg+xml";
    link.href = "/web/icons/icon.svg";
    return;
  }
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIZE;
  const paint = canvas.getContext("2d");
  if (!paint) return;
  drawCount(paint, count > 99 ? "99" : String(count));
  link.type = "image/png";
  link.href = canvas.toDataURL("image/png");
}

/** @param {CanvasRenderingContext2D} paint @param {string} text */
function drawCount(paint, text) {
  paint.fillStyle = "#f0b03c";
  paint.beginPath();
  paint.roundRect(0, 0, SIZE, SIZE, 16);
  paint.fill();
  paint.fillStyle = "#1c1c1a";
  paint.font = `700 ${text.length > 1 ? 40 : 48}px system-ui, sans-serif`;
  paint.textAlign = "center";
  paint.textBaseline = "middle";
  paint.fillText(text, SIZE / 2, SIZE / 2 + 3);
}
