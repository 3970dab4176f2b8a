/**
 * Keeps a reader's place: at the end while they are at the end, and otherwise at what they are reading, whatever grows,
 * shrinks, comes or goes above it. The browser's own anchoring is switched off, because not every browser has it and
 * none has it at the very top.
 */

/** So near to the end counts as the end. */
const AT_END_PX = 40;

export class ScrollKeeper {
  /** Whether the view follows what comes. */
  following = true;

  #scroller;
  #anchorAt;
  /** @type {{ element: Element, top: number } | null} */
  #anchor = null;
  /** Where we scrolled to ourselves: that is not a reader's doing. */
  #ownTop = -1;
  #observer;
  #changed;

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} content    what grows in it
   * @param {(top: number) => Element | null} anchorAt  the element at this height of the window
   * @param {() => void} changed     called when the reader came to the end or left it
   */
  constructor(scroller, content, anchorAt, changed) {
    this.#scroller = scroller;
    this.#anchorAt = anchorAt;
    this.#changed = changed;
    this.#observer = new ResizeObserver(() => this.restore());
    this.#observer.observe(scroller);
    this.#observer.observe(content);
  }

  disconnect() {
    this.#observer.disconnect();
  }

  /** To be called on each scroll event. */
  scrolled() {
    const isOwn = Math.abs(this.#scroller.scrollTop - this.#ownTop) < 2;
    if (!isOwn) this.#setFollowing(this.isAtEnd);
    this.remember();
  }

  /** Note what the reader is looking at. */
  remember() {
    if (this.following) return;
    const top = this.#scroller.getBoundingClientRect().top;
    const element = this.#anchorAt(top);
    this.#anchor = element && { element, top: element.getBoundingClientRect().top - top };
  }

  /** Change the page without moving what the reader looks at. @param {() => void} change */
  during(change) {
    this.remember();
    change();
    this.restore();
    this.remember();
  }

  /** Bring the reader back to where they were. */
  restore() {
    if (this.following) return this.#scrollTo(this.#scroller.scrollHeight);
    if (!this.#anchor?.element.isConnected) return;
    const top = this.#anchor.element.getBoundingClientRect().top - this.#scroller.getBoundingClientRect().top;
    const moved = top - this.#anchor.top;
    if (Math.abs(moved) >= 1) this.#scrollTo(this.#scroller.scrollTop + moved);
  }

  toEnd() {
    this.#setFollowing(true);
    this.#scrollTo(this.#scroller.scrollHeight);
  }

  /** Bring an element into the upper third, and stay there. @param {Element} element */
  toElement(element) {
    this.letGo();
    const scroller = this.#scroller.getBoundingClientRect();
    const top = element.getBoundingClientRect().top - scroller.top;
    this.#scrollTo(this.#scroller.scrollTop + top - scroller.height / 3);
    this.remember();
  }

  /** Stop following: the reader looks at something here. */
  letGo() {
    this.#setFollowing(false);
    this.remember();
  }

  /** @param {boolean} following */
  #setFollowing(following) {
    if (following === this.following) return;
    this.following = following;
    this.#changed();
  }

  get isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < AT_END_PX;
  }

  /** @param {number} top */
  #scrollTo(top) {
    this.#scroller.scrollTop = top;
    this.#ownTop = this.#scroller.scrollTop;
  }
}
