/**
 * Numbers and times as people read them. Where one stands under another, set `font-variant-numeric: tabular-nums`
 * (class `num`).
 */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** Seconds since the epoch. */
export function now() {
  return Date.now() / 1000;
}

/** "0:42", "12:03", "1:02:03": a clock that runs. @param {number} seconds */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [h, m, s] = [Math.floor(whole / HOUR), Math.floor((whole % HOUR) / MINUTE), whole % MINUTE];
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** "850 ms", "2.1 s", "42 s", "3 min", "2 h 10 min", "4 d". @param {number} seconds */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < MINUTE) return `${Math.round(seconds)} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return hours(seconds);
  return `${Math.floor(seconds / DAY)} d`;
}

/** @param {number} seconds */
function hours(seconds) {
  const minutes = Math.floor((seconds % HOUR) / MINUTE);
  return `${Math.floor(seconds / HOUR)} h${minutes ? ` ${minutes} min` : ""}`;
}

/** How long something has waited: "just now", "3 min". @param {number} since */
export function waited(since) {
  const seconds = now() - since;
  return seconds < 10 ? "just now" : duration(seconds);
}

/** "just now", "3 min ago". @param {number} at */
export function ago(at) {
  const words = waited(at);
  return words === "just now" ? words : `${words} ago`;
}

/** The moment in full, for titles. @param {number} at */
export function moment(at) {
  return new Date(at * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** "14:03", with the day if it is not today's. @param {number} at */
export function timeOfDay(at) {
  const date = new Date(at * 1000);
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === new Date().toDateString()) return time;
  return `${date.toLocaleDateString(undefined, { month: "short", day: "numeric" })}, ${time}`;
}

/** "$0.42", "$12.30", "$0.0031": never more digits than say something. @param {number | null | undefined} usd */
export function money(usd) {
  if (usd === null || usd === undefined) return "–";
  if (usd > 0 && usd < 0.01) return `$${usd.toFixed(4)}`;
  return `$${usd.toFixed(2)}`;
}

/** "950 B", "38 MB", "1.2 GB". @param {number} count */
export function bytes(count) {
  const [unit, size] = /** @type {[string, number]} */ (
    [
      ["TB", 1e12],
      ["GB", 1e9],
      ["MB", 1e6],
      ["KB", 1e3],
    ].find(([, size]) => count >= Number(size)) ?? ["B", 1]
  );
  const amount = count / size;
  return `${amount < 10 && size > 1 ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}

/** "950", "38 k", "1.2 M". @param {number | null | undefined} count */
export function tokens(count) {
  if (count === null || count === undefined) return "–";
  if (count < 1000) return String(count);
  if (count < 10_000) return `${(count / 1000).toFixed(1)} k`;
  if (count < 1_000_000) return `${Math.round(count / 1000)} k`;
  return `${(count / 1_000_000).toFixed(1)} M`;
}

/** "38 %". @param {number} share between 0 and 1 */
export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

/** "1 file", "3 files". @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/** The last part of a path, which names a project. @param {string | null | undefined} path */
export function baseName(path) {
  return (path ?? "").replace(/\/+$/, "").split("/").pop() || path || "";
}

/** The name of a model without what every model's name has. @param {string | null | undefined} model */
export function modelName(model) {
  return (model ?? "").replace(/^claude-/, "").replace(/-\d{8}$/, "");
}

/** One line of somebody else's text: nothing in it is hidden, and nothing turns around what follows. @param {string} text */
export function oneLine(text) {
  return text.replace(/[\n\r\t]+/g, " ").replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu, "\ufffd");
}

/** @type {Record<string, string>} */
const SURFACES = {
  web: "from the page",
  cli: "from a terminal",
  attach: "from a terminal",
  api: "from a program",
  python: "from a program",
  telegram: "from Telegram",
  policy: "",
  hook: "",
  callback: "",
  unattended: "",
};

/** Where somebody is; nothing for what is part of Handrail itself. @param {string} surface */
export function fromWhere(surface) {
  return SURFACES[surface] ?? `from ${surface}`;
}
