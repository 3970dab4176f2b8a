/**
 * The beginning: the login code leaves the address bar, then the page is set up.
 */

import "./app.js";
import { serviceWorkerUrl } from "./html.js";

navigator.serviceWorker?.register(serviceWorkerUrl()).catch(() => {
  // Without it the page is not installable, and works as before: on plain HTTP there is none.
});
