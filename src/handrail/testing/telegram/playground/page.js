// Draws the chats of the server, follows what changes, and lets whoever looks write and press.
import { element, outward, textNodes } from "./entities.js";
import { showKept } from "./keeping.js";

const find = (id) => document.getElementById(id);
const COLOURS = ["#e17076", "#7bc862", "#65aadd", "#a695e7", "#ee7aae", "#6ec9cb", "#faa774"];
let state = null;
let replyTo = null;
const repliedOnce = new Set();
let sticksToEnd = true;

const query = new URLSearchParams(location.search);
if (query.get("theme")) document.documentElement.dataset.theme = query.get("theme");

// Where we are: #CHAT or #CHAT/TOPIC; nothing is the list.

function place() {
  const [chat, thread] = location.hash.slice(1).split("/").map(Number);
  return { chat: chat || 0, thread: thread || 0 };
}

function shownChat() {
  return state.chats.find((chat) => chat.id === place().chat);
}

function person() {
  return Number(find("person").value);
}

// Drawing

function draw() {
  drawList();
  const chat = shownChat();
  document.body.classList.toggle("in-chat", Boolean(chat));
  if (chat) drawChat(chat);
}

function drawList() {
  const heading = { key: "heading", from: 0, draw: () => element("h2", "", ["Chats"]) };
  showKept(find("chats"), [heading, ...state.chats.flatMap(listEntries)]);
}

function listEntries(chat) {
  const who = chat.private ? ` · ${chat.members[0].name}` : "";
  const topics = chat.topics.map((topic) => {
    const messages = chat.messages.filter((message) => message.thread === topic.id);
    return listEntry("entry topic", `# ${topic.name}`, "", `#${chat.id}/${topic.id}`, messages);
  });
  return [listEntry("entry", chat.name, who, `#${chat.id}`, chat.messages), ...topics];
}

function listEntry(className, name, who, href, messages) {
  const last = messages.at(-1);
  const words = last ? last.text || last.service || last.media?.name || "" : "No messages yet";
  const isOpen = href === location.hash;
  const draw = () => drawEntry(className, name, who, href, words.slice(0, 200), isOpen);
  return { key: href, from: [name, who, words, isOpen], draw };
}

function drawEntry(className, name, who, href, words, isOpen) {
  const lines = [element("b", "", [name + who]), element("span", "last", [words])];
  const entry = element("a", className, [avatar(name), element("span", "words", lines)]);
  entry.href = href;
  if (isOpen) entry.setAttribute("aria-current", "page");
  return entry;
}

function avatar(name) {
  const bare = name.replace(/^# /, "");
  const made = element("span", "avatar", [bare.slice(0, 1).toUpperCase()]);
  made.style.background = colour(bare);
  made.ariaHidden = "true";
  return made;
}

function colour(name) {
  const sum = [...name].reduce((total, character) => total + character.codePointAt(0), 0);
  return COLOURS[sum % COLOURS.length];
}

function drawChat(chat) {
  const { thread } = place();
  const topic = chat.topics.find((one) => one.id === thread);
  find("title").textContent = topic ? topic.name : chat.name;
  find("subtitle").textContent = subtitle(chat, topic);
  find("avatar").replaceWith(Object.assign(avatar(topic ? topic.name : chat.name), { id: "avatar" }));
  drawPeople(chat);
  drawMessages(chat, chat.messages.filter((message) => message.thread === thread));
  drawInput(chat);
}

function subtitle(chat, topic) {
  if (chat.action) return chat.action === "typing" ? "typing…" : `${chat.action.replaceAll("_", " ")}…`;
  if (chat.blocked) return "blocked";
  if (topic) return chat.name;
  return chat.private ? "bot" : `${chat.members.length + 1} members`;
}

function drawPeople(chat) {
  const select = find("person");
  const wanted = chat.members.map((member) => String(member.id)).join();
  if (select.dataset.people === wanted) return;
  select.dataset.people = wanted;
  select.replaceChildren(...chat.members.map((member) => new Option(member.name, member.id)));
  select.hidden = chat.members.length < 2;
}

function drawMessages(chat, messages) {
  const list = find("messages");
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  const groups = albums(messages);
  const shown = groups.map((group, number) => shownGroup(chat, group, groups[number - 1]));
  if (chat.draft && chat.draft.thread === place().thread)
    shown.push({ key: "draft", from: chat.draft, draw: () => drawDraft(chat.draft) });
  showKept(list, shown);
  sticksToEnd = atEnd || !list.dataset.seen;
  list.dataset.seen = "yes";
  stick();
  const pinned = messages.findLast((message) => message.pinned);
  find("pinned").hidden = !pinned;
  find("pinned").replaceChildren(element("b", "", ["Pinned message"]), pinned ? pinned.text : "");
}

/** Whoever was at the end stays there, also when pictures turn out larger. */
function stick() {
  if (sticksToEnd) find("messages").scrollTop = find("messages").scrollHeight;
}

/** Messages that were sent together are one. */
function albums(messages) {
  const groups = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last && message.album && last[0].album === message.album) last.push(message);
    else groups.push([message]);
  }
  return groups;
}

function shownGroup(chat, group, before) {
  const [message] = group;
  const mine = !message.sender.bot && message.sender.id === (person() || chat.members[0].id);
  const follows = Boolean(before) && before[0].sender.id === message.sender.id && !before[0].service;
  const draw = () => drawGroup(chat, group, mine, follows);
  return { key: `${chat.id} ${message.id}`, from: [group, mine, follows], draw };
}

function drawGroup(chat, group, mine, follows) {
  const [message] = group;
  if (message.service) return element("li", "service", [element("span", "", [message.service])]);
  const item = element("li", `message ${mine ? "mine" : "theirs"}${follows ? " follows" : ""}`);
  item.dataset.id = message.id;
  item.append(bubble(chat, group, mine));
  const last = group.at(-1);
  if (last.buttons.length) item.append(keyboard(chat, last));
  item.style.setProperty("--name", colour(message.sender.name));
  return item;
}

function bubble(chat, group, mine) {
  const [message] = group;
  const made = element("div", "bubble");
  if (!chat.private && !mine) made.append(element("div", "name", [message.sender.name]));
  if (message.forwarded) made.append(element("div", "forwarded", [`Forwarded from ${message.forwarded}`]));
  if (message.reply) made.append(replyBox(message.reply));
  const pictures = group.filter((one) => one.media?.kind === "photo");
  if (pictures.length) made.append(pictureGrid(pictures));
  made.append(...group.filter((one) => one.media && one.media.kind !== "photo").map((one) => documentBox(one.media)));
  const captioned = group.find((one) => one.text) ?? message;
  const words = element("div", "text", textNodes(captioned.text, captioned.entities));
  words.dir = "auto";
  words.append(footer(message));
  if (message.reactions.length) words.append(element("div", "reactions", message.reactions));
  made.classList.toggle("bare", pictures.length > 0 && !captioned.text);
  made.append(words, replyKey(message));
  made.addEventListener("dblclick", () => startReply(message));
  words.addEventListener("click", (event) => {
    if (!event.target.closest(".bot_command")) return;
    event.preventDefault();
    send(event.target.textContent);
  });
  return made;
}

/** For those who cannot click twice. */
function replyKey(message) {
  const made = element("button", "answer", ["↩"]);
  made.ariaLabel = "Reply";
  made.addEventListener("click", () => startReply(message));
  return made;
}

function replyBox(reply) {
  const made = element("button", "reply", [
    element("b", "", [reply.name]),
    element("span", "", [reply.gone ? "Deleted message" : reply.text]),
  ]);
  made.addEventListener("click", () => {
    document.querySelector(`[data-id="${reply.id}"]`)?.scrollIntoView({ block: "center" });
  });
  return made;
}

function pictureGrid(messages) {
  const grid = element("div", `pictures n${Math.min(messages.length, 4)}`);
  for (const { media } of messages) {
    const image = new Image();
    image.src = `/_playground/file/${media.file}`;
    image.alt = media.name;
    image.addEventListener("load", stick);
    if (media.width) image.style.aspectRatio = `${media.width} / ${media.height}`;
    grid.append(image);
  }
  return grid;
}

function documentBox(media) {
  const suffix = media.name.includes(".") ? media.name.split(".").pop() : "file";
  const words = element("span", "words", [element("b", "", [media.name]), element("span", "", [size(media.bytes)])]);
  const made = element("a", "document", [element("span", "icon", [suffix.slice(0, 4)]), words]);
  made.href = `/_playground/file/${media.file}`;
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`;
}

function footer(message) {
  const time = new Date(message.date * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const marks = [message.silent ? "🔕 " : "", message.edited ? "edited " : "", time];
  return element("span", "footer", marks);
}

function keyboard(chat, message) {
  const rows = message.buttons.map((row) => element("div", "row", row.map((button) => drawButton(chat, message, button))));
  return element("div", "keyboard", rows);
}

function drawButton(chat, message, button) {
  const look = `key ${button.style}`;
  if (button.url) return outward(element("a", `${look} link`, [button.text]), button.url);
  const made = element("button", look, [button.text]);
  made.addEventListener("click", () => press(chat, message, button, made));
  return made;
}

function drawDraft(draft) {
  const nodes = draft.text ? textNodes(draft.text, draft.entities) : [element("i", "", ["Thinking…"])];
  const words = element("div", "text", nodes);
  words.append(element("span", "caret"));
  return element("li", "message theirs draft", [element("div", "bubble", [words])]);
}

function drawInput(chat) {
  const input = chat.inputs[person()] ?? {};
  find("text").placeholder = input.input_field_placeholder || "Message";
  find("composer").hidden = chat.blocked;
  if (input.force_reply) replyOnce(chat, input.message);
}

/** What asks for a reply gets the next message as one. */
function replyOnce(chat, id) {
  const key = `${chat.id}/${id}`;
  const message = chat.messages.find((each) => each.id === id);
  if (!message || repliedOnce.has(key)) return;
  repliedOnce.add(key);
  startReply(message);
}

// Doing

async function post(path, body) {
  const response = await fetch(`/_playground/${path}`, { method: "POST", body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function send(text) {
  const { chat, thread } = place();
  const body = { chat, user: person(), text, thread, reply_to: replyTo?.id ?? 0 };
  startReply(null);
  sticksToEnd = true;
  stick();
  await post("send", body).catch((error) => toast(error.message));
}

async function press(chat, message, button, key) {
  key.classList.add("waiting");
  try {
    const answer = await post("press", { chat: chat.id, user: person(), message: message.id, data: button.data });
    if (answer.alert) showAlert(answer.text);
    else if (answer.text) toast(answer.text);
  } catch (error) {
    toast(error.message);
  }
  key.classList.remove("waiting");
}

function toast(words) {
  const box = find("toast");
  box.textContent = words;
  box.hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => (box.hidden = true), 4000);
}

function showAlert(words) {
  find("alert").firstElementChild.textContent = words;
  find("alert").showModal();
}

function startReply(message) {
  replyTo = message;
  find("replying").hidden = !message;
  if (!message) return;
  find("replying").firstElementChild.textContent = `Reply to ${message.sender.name}: ${message.text}`;
  find("text").focus();
}

function suggestCommands() {
  const typed = find("text").value;
  const fitting = typed.startsWith("/") ? state.commands.filter(({ command }) => `/${command}`.startsWith(typed)) : [];
  find("commands").hidden = !fitting.length;
  find("commands").replaceChildren(...fitting.map(commandEntry));
}

function commandEntry({ command, description }) {
  const button = element("button", "", [element("b", "", [`/${command}`]), ` ${description}`]);
  button.addEventListener("click", () => {
    find("text").value = `/${command} `;
    find("commands").hidden = true;
    find("text").focus();
  });
  return element("li", "", [button]);
}

find("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = find("text").value.trim();
  find("text").value = "";
  find("commands").hidden = true;
  if (text) send(text);
});
find("text").addEventListener("input", suggestCommands);
find("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  find("composer").requestSubmit();
});
find("replying").lastElementChild.addEventListener("click", () => startReply(null));
find("person").addEventListener("change", draw);
addEventListener("hashchange", () => {
  delete find("messages").dataset.seen;
  draw();
});

// Following

async function follow() {
  let seen = "";
  for (;;) {
    try {
      const response = await fetch(`/_playground/state?after=${state ? state.version : ""}`);
      const told = await response.text();
      if (told === seen) continue;
      state = JSON.parse(told);
      seen = told;
      if (!location.hash && query.get("chat")) location.replace(`#${query.get("chat")}`);
      draw();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

follow();
