/**
 * Keeps the page's own files, so that it opens at once and can be installed; the network is asked first, so that it
 * never runs an old version beside a new one. Nothing of the API is ever kept.
 */

const KEPT = "handrail-shell-1";
const SHELL = "/inbox";

/** What this script runs in. */
const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.add(SHELL)));
  worker.skipWaiting();
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(forgetOthers().then(() => worker.clients.claim()));
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== worker.location.origin) return;
  if (request.mode === "navigate" && !url.pathname.startsWith("/api/")) event.respondWith(fresh(request, SHELL));
  else if (url.pathname.startsWith("/web/")) event.respondWith(fresh(request, request));
});

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(String(event.notification.data ?? SHELL)));
});

/** From the network; from what is kept if there is none. @param {Request} request @param {RequestInfo} key */
async function fresh(request, key) {
  const cache = await caches.open(KEPT);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(key, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(key);
    if (kept) return kept;
    throw error;
  }
}

async function forgetOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name)));
}

/** Go to a page in a window that is there, or in a new one. @param {string} path */
async function show(path) {
  const windows = await worker.clients.matchAll({ type: "window" });
  const there = windows.find((each) => new URL(each.url).pathname === path) ?? windows[0];
  if (!there) return worker.clients.openWindow(path);
  await there.focus();
  if (new URL(there.url).pathname !== path) await there.navigate(path);
}
