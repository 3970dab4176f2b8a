// Draws a text with its entities. Both count in UTF-16 code units, so offsets need no conversion.

const TAGS = {
  bold: "b",
  italic: "i",
  underline: "u",
  strikethrough: "s",
  code: "code",
  blockquote: "blockquote",
  expandable_blockquote: "blockquote",
};

const BLOCKS = new Set(["pre", "blockquote", "expandable_blockquote"]);

/** The nodes of a text. `entities` lie wholly inside or outside of each other, the outer ones first. */
export function textNodes(text, entities) {
  return nodesBetween(text, 0, text.length, entities);
}

function nodesBetween(text, start, end, entities) {
  const nodes = [];
  let at = start;
  let afterBlock = false;
  while (entities.length) {
    const [entity, ...rest] = entities;
    const close = entity.offset + entity.length;
    const inside = rest.filter((other) => other.offset < close);
    nodes.push(after(afterBlock, text.slice(at, entity.offset)));
    nodes.push(drawn(entity, text.slice(entity.offset, close), nodesBetween(text, entity.offset, close, inside)));
    at = close;
    afterBlock = BLOCKS.has(entity.type);
    entities = rest.filter((other) => other.offset >= close);
  }
  nodes.push(after(afterBlock, text.slice(at, end)));
  return nodes;
}

/** A block ends its line itself, so the line break after it is not drawn once more. */
function after(isBlock, text) {
  return isBlock ? text.replace(/^\n/, "") : text;
}

function drawn(entity, text, children) {
  if (entity.type === "pre") return codeBlock(entity, children);
  if (entity.type === "spoiler") return spoiler(children);
  if (entity.type in TAGS) return element(TAGS[entity.type], entity.type, children);
  return outward(element("a", entity.type, children), address(entity, text));
}

/** A link that leads out of the page, if the address is one that a chat may lead to. */
export function outward(link, address) {
  link.href = URL.canParse(address) && /^(https?|tg|ton|tonsite|mailto):/i.test(address) ? address : "#";
  if (/^https?:/.test(link.href)) link.target = "_blank";
  link.rel = "noopener noreferrer";
  return link;
}

function codeBlock(entity, children) {
  const block = element("pre", "pre", [element("code", "", children)]);
  if (entity.language) block.prepend(element("span", "language", [entity.language]));
  return block;
}

function spoiler(children) {
  const hidden = element("span", "spoiler", children);
  hidden.addEventListener("click", () => hidden.classList.add("open"));
  return hidden;
}

function address(entity, text) {
  if (entity.type === "text_link") return entity.url;
  if (entity.type === "url") return /^https?:/i.test(text) ? text : `https://${text}`;
  if (entity.type === "email") return `mailto:${text}`;
  return "#";
}

/** An element of a tag, with a class and children. */
export function element(tag, className = "", children = []) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}
