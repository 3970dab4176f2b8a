/**
 * Light, dark, or as the system has it: kept in this browser. Every colour follows `color-scheme`.
 */

/** @typedef {"system" | "light" | "dark"} Theme */

const NAME = "handrail.theme";

/** @returns {Theme} */
export function theme() {
  try {
    const kept = localStorage.getItem(NAME);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

/** Show the page as it was chosen. */
export function applyTheme() {
  const chosen = theme();
  document.documentElement.style.colorScheme = chosen === "system" ? "" : chosen;
  document.documentElement.dataset.theme = chosen;
}

/** @param {Theme} chosen */
export function setTheme(chosen) {
  try {
    if (chosen === "system") localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, chosen);
  } catch {
    // Storage is switched off: the choice cannot be kept.
  }
  applyTheme();
}
