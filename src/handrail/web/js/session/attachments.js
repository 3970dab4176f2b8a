/**
 * Images that go with a message: pasted, dropped or chosen, checked before they are sent.
 */

/** @import { ImageData64 } from "./commands.js" */

import { fill, h, HandrailElement } from "../dom.js";
import { icon } from "../icons.js";

const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** What the API behind Claude takes of one image, as base64, is 5 MB. */
const LARGEST_BYTES = 3_750_000;
const AT_MOST = 10;

/** @typedef {{ id: number, name: string, type: string, address: string, file: File }} Attached */

export class HandrailAttachments extends HandrailElement {
  /** Called when there are more or fewer. */
  changed = () => {};
  /** @type {Attached[]} */
  #attached = [];
  #made = 0;
  #trouble = "";

  get count() {
    return this.#attached.length;
  }

  /** @override */
  mount() {
    this.hold(() => this.clear());
  }

  /** Take what can be taken of these files; says of the others why not. @param {Iterable<File>} files */
  add(files) {
    this.#trouble = "";
    for (const file of files) {
      const refusal = this.#refusal(file);
      if (refusal) this.#trouble = refusal;
      else
        this.#attached.push({
          id: ++this.#made,
          name: file.name || "image",
          type: file.type,
          address: URL.createObjectURL(file),
          file,
        });
    }
    this.render();
    this.changed();
  }

  clear() {
    for (const { address } of this.#attached) URL.revokeObjectURL(address);
    this.#attached = [];
    this.#trouble = "";
    this.render();
  }

  /** @returns {Promise<ImageData64[]>} */
  contents() {
    return Promise.all(this.#attached.map(async ({ file, type }) => ({ media_type: type, data: await base64(file) })));
  }

  /** @param {File} file */
  #refusal(file) {
    const name = file.name || "The image";
    if (!TYPES.includes(file.type))
      return `${name} is not a PNG, JPEG, GIF or WebP image. For other files write @ and their path.`;
    if (file.size > LARGEST_BYTES)
      return `${name} has ${(file.size / 1e6).toFixed(1)} MB; an image may have ${(LARGEST_BYTES / 1e6).toFixed(2)} MB. Make it smaller, then add it again.`;
    if (this.#attached.length >= AT_MOST) return `A message takes ${AT_MOST} images at most.`;
    return "";
  }

  /** @override */
  render() {
    this.hidden = this.#attached.length === 0 && !this.#trouble;
    fill(
      this,
      this.#attached.map((each) =>
        h(
          "figure",
          { class: "attached" },
          h("img", { src: each.address, alt: each.name }),
          h(
            "button",
            {
              type: "button",
              class: "icon-button",
              "aria-label": `Remove ${each.name}`,
              onclick: () => this.#remove(each),
            },
            icon("cross"),
          ),
        ),
      ),
      this.#trouble && h("p", { class: "problem", role: "alert" }, this.#trouble),
    );
  }

  /** @param {Attached} gone */
  #remove(gone) {
    URL.revokeObjectURL(gone.address);
    this.#attached = this.#attached.filter((each) => each !== gone);
    this.render();
    this.changed();
  }
}

/** Image files in what was pasted or dropped. @param {DataTransfer | null} data @returns {File[]} */
export function filesIn(data) {
  return [...(data?.files ?? [])];
}

/** @param {File} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(new Error(`${file.name} cannot be read any more. Remove it and add it again.`));
    reader.readAsDataURL(file);
  });
}

customElements.define("handrail-attachments", HandrailAttachments);
