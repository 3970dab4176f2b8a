/**
 * One value of a form: a control that fits its kind, and what the person entered as the value the server wants.
 */

/** @import { FormField, Json } from "../types.js" */
/** @import { Reader } from "./form.js" */

import { h } from "../dom.js";

/** @param {FormField} field @param {string} askId @returns {Reader} */
export function formField(field, askId) {
  const id = `field-${askId}-${field.name}`;
  const { control, read } = controlFor(field, id);
  const title = field.title || field.name;
  const notes = (field.fields ?? []).map(({ name, text }) => `${name}: ${text}`).join(", ");
  const label = h(
    control.localName === "fieldset" ? "span" : "label",
    { for: id, class: "form-title" },
    title,
    field.required && h("span", { class: "quiet-text" }, " needed"),
  );
  const element = h(
    "div",
    { class: "form-field" },
    label,
    field.description && h("p", { class: "quiet-text" }, field.description),
    control,
    notes && h("p", { class: "quiet-text" }, notes),
  );
  return { field, element, read: () => checked(field, title, read()) };
}

/** @param {FormField} field @param {string} title @param {Json | undefined} value */
function checked(field, title, value) {
  if (value !== undefined || !field.required) return value;
  throw new Error(`${title} is needed. Nothing was sent.`);
}

/** @param {FormField} field @param {string} id @returns {{ control: HTMLElement, read(): Json | undefined }} */
function controlFor(field, id) {
  if (field.choices?.length) return field.several ? severalChoices(field, id) : oneChoice(field, id);
  if (field.kind === "boolean") return yesOrNo(field, id);
  if (field.kind === "integer" || field.kind === "number") return number(field, id);
  return text(field, id);
}

/** @param {FormField} field @param {string} id */
function text(field, id) {
  const before = defaultOf(field);
  const control = h("input", {
    id,
    name: field.name,
    ".value": typeof before === "string" ? before : "",
    autocomplete: "off",
  });
  return { control, read: () => control.value || undefined };
}

/** @param {FormField} field @param {string} id */
function number(field, id) {
  const before = defaultOf(field);
  const control = h("input", {
    id,
    name: field.name,
    type: "number",
    step: field.kind === "integer" ? 1 : "any",
    ".value": before === null ? "" : String(before),
    class: "num",
  });
  return { control, read: () => (control.value === "" ? undefined : Number(control.value)) };
}

/** @param {FormField} field @param {string} id */
function yesOrNo(field, id) {
  const box = h("input", { id, name: field.name, type: "checkbox", ".checked": defaultOf(field) === true });
  return { control: h("div", { class: "form-choice" }, box, h("label", { for: id }, "yes")), read: () => box.checked };
}

/** @param {FormField} field @param {string} id */
function oneChoice(field, id) {
  const before = field.default ?? "";
  const control = h(
    "select",
    { id, name: field.name },
    !field.required || !before ? h("option", { value: "" }, "–") : null,
    (field.choices ?? []).map(({ value, shown }) => h("option", { value, selected: value === before }, shown)),
  );
  return { control, read: () => (control.value === "" ? undefined : JSON.parse(control.value)) };
}

/** @param {FormField} field @param {string} id */
function severalChoices(field, id) {
  const before = defaultOf(field);
  const chosen = new Set(Array.isArray(before) ? before.map((each) => JSON.stringify(each)) : []);
  const boxes = (field.choices ?? []).map(({ value, shown }, index) => ({
    value,
    shown,
    box: h("input", { type: "checkbox", id: `${id}-${index}`, value, ".checked": chosen.has(value) }),
  }));
  const control = h(
    "fieldset",
    { id, "aria-label": field.title || field.name },
    boxes.map(({ box, shown }) => h("div", { class: "form-choice" }, box, h("label", { for: box.id }, shown))),
  );
  return {
    control,
    read: () => {
      const picked = boxes.filter(({ box }) => box.checked).map(({ value }) => /** @type {Json} */ (JSON.parse(value)));
      return picked.length || field.required ? picked : undefined;
    },
  };
}

/** @param {FormField} field @returns {Json} */
function defaultOf(field) {
  try {
    return JSON.parse(field.default ?? "null");
  } catch {
    return null;
  }
}
