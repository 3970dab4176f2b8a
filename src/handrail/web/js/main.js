/**
 * The beginning: the login code leaves the address bar, then the page is set up, in the colours that were chosen.
 */

import "./app.js";
import { serviceWorkerUrl } from "./html.js";
import { applyTheme } from "./pages/theme.js";

applyTheme();

navigator.serviceWorker?.register(serviceWorkerUrl()).catch(() => {
  // Without it the page is not installable, and works as before: on plain HTTP there is none.
});
