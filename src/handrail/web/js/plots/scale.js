/**
 * From values to places on a plot. Pure.
 */

/** Steps between ticks that people count in, for each power of ten. */
const STEPS = [1, 2, 2.5, 5, 10];

/**
 * Round values from 0 to at least `most`.
 * @param {number} most
 * @param {number} wanted  about how many there should be
 * @returns {number[]}
 */
export function ticks(most, wanted) {
  if (!(most > 0)) return [0, 1];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.find((each) => each * power >= rough) ?? 10) * power;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/**
 * From a value to a height.
 * @param {number} most  the value at the top
 * @param {number} bottom @param {number} top
 */
export function linear(most, bottom, top) {
  return (/** @type {number} */ value) => bottom + (top - bottom) * (most > 0 ? value / most : 0);
}

/** Every day from the first to the last, as "2026-11-16". @param {Date} first @param {Date} last @returns {string[]} */
export function daysBetween(first, last) {
  const days = [];
  const day = new Date(first.getFullYear(), first.getMonth(), first.getDate(), 12);
  const end = new Date(last.getFullYear(), last.getMonth(), last.getDate(), 12);
  for (; day <= end; day.setDate(day.getDate() + 1)) days.push(dayName(day));
  return days;
}

/** @param {Date} date */
export function dayName(date) {
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** "Nov 16". @param {string} day */
export function dayWords(day) {
  return new Date(`${day}T12:00`).toLocaleDateString(undefined, { month: "short", day: "numeric" });
}
