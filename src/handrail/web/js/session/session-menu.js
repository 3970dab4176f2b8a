/**
 * What can be done with a whole session, in one menu.
 */

/** @import { MenuItem } from "../menu.js" */
/** @import { PageContext } from "../page.js" */
/** @import { SessionState } from "../types.js" */
/** @import { Commands } from "./commands.js" */

import { inWords } from "../api.js";
import { isReachable } from "../hosts/words.js";
import { sessionPath } from "../router.js";
import { askForText, confirmThen } from "./dialogs.js";
import { h } from "../dom.js";

/**
 * @typedef {object} Around
 * @property {PageContext} page
 * @property {Commands} commands
 * @property {string} id
 * @property {SessionState | null} state
 * @property {(words: string) => void} say
 * @property {() => void} find
 */

/** @param {Around} around @returns {MenuItem[]} */
export function sessionMenu(around) {
  const { page, state, find } = around;
  const archived = page.home.sessions.value.get(around.id)?.archived ?? false;
  const away = isReachable(state) ? "" : `${state?.host_name} is not connected now`;
  /** @type {(MenuItem | false)[]} */
  const items = [
    { words: "Find…", run: find },
    page.may("owner") && { words: "Rename…", run: () => void rename(around) },
    page.may("owner") &&
      (state?.live
        ? { words: "Stop", hint: away || "Ends the process; a message starts it again", run: () => void stop(around) }
        : {
            words: "Resume",
            hint: away || "Starts Claude Code again, without a message",
            run: () => trying(around, () => around.commands.resume()),
          }),
    page.may("owner") && {
      words: "Fork",
      hint: away || "A new session that knows all of this one",
      run: () => trying(around, () => fork(around)),
    },
    { words: "Export as Markdown", run: () => download(around, "markdown") },
    { words: "Export as HTML", run: () => download(around, "html") },
    { words: "Export as JSON Lines", run: () => download(around, "jsonl") },
    page.may("owner") && {
      words: archived ? "Take out of the archive" : "Archive",
      run: () => trying(around, () => archive(around, !archived)),
    },
    page.may("owner") && { words: "Delete…", danger: true, run: () => void remove(around) },
  ];
  return items.filter((item) => item !== false);
}

/** @param {Around} around */
export function rename({ commands, state }) {
  return askForText({
    title: "Rename session",
    label: "Title",
    value: state?.title ?? "",
    action: "Rename",
    run: (title) => commands.rename(title),
  });
}

/** @param {Around} around */
function stop(around) {
  const { commands, state } = around;
  if (!state?.run) return trying(around, () => commands.stop());
  return confirmThen({
    title: "Stop this session?",
    body: [
      h(
        "p",
        null,
        "Claude is working. What it is doing is interrupted and its process ends; everything so far is kept, and a message starts it again.",
      ),
    ],
    action: "Stop session",
    danger: true,
    run: () => commands.stop(),
  });
}

/** @param {Around} around */
async function fork({ commands, page }) {
  const session = await commands.fork();
  page.router.go(sessionPath(session.id));
}

/** @param {Around} around @param {boolean} archived */
async function archive({ commands, page, say }, archived) {
  await commands.archive(archived);
  if (archived) page.router.go("/sessions");
  else say("It is out of the archive.");
}

/** @param {Around} around */
async function remove({ commands, page, state }) {
  const gone = await confirmThen({
    title: "Delete this session?",
    body: [
      h(
        "p",
        null,
        h("strong", null, state?.title || "This session"),
        " and all its events are deleted for good",
        state?.host_name ? `, here and on ${state.host_name}` : "",
        state?.live ? ", after its process has been ended" : "",
        ". Files that Claude changed stay as they are.",
      ),
    ],
    action: "Delete",
    danger: true,
    run: async () => {
      if (state?.live) await commands.stop();
      await commands.delete();
    },
  });
  if (gone) page.router.go("/sessions", { replace: true });
}

/** @param {Around} around @param {"markdown" | "html" | "jsonl"} format */
function download({ commands }, format) {
  const link = h("a", { href: commands.exportAddress(format), download: "" });
  document.body.append(link);
  link.click();
  link.remove();
}

/** @param {Around} around @param {() => Promise<unknown>} act */
async function trying({ say }, act) {
  try {
    await act();
  } catch (error) {
    say(inWords(error));
  }
}
