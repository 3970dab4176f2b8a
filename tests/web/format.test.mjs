/** Numbers, times and names as people read them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { WEB } from "./support.mjs";

const format = await import(new URL("format.js", WEB).href);

const NOW = 1_800_000_000;
Date.now = () => NOW * 1000;

/** What each function makes of what it is given. */
const TABLE = {
  clock: [[0, "0:00"], [42.9, "0:42"], [723, "12:03"], [3723, "1:02:03"], [-5, "0:00"]],
  duration: [
    [0, "0 ms"],
    [0.85, "850 ms"],
    [2.14, "2.1 s"],
    [42.4, "42 s"],
    [200, "3 min"],
    [3600, "1 h"],
    [7800, "2 h 10 min"],
    [4 * 86_400, "4 d"],
  ],
  waited: [[NOW - 3, "just now"], [NOW + 60, "just now"], [NOW - 190, "3 min"]],
  ago: [[NOW - 3, "just now"], [NOW - 190, "3 min ago"]],
  money: [[null, "–"], [undefined, "–"], [0, "$0.00"], [0.0031, "$0.0031"], [0.42, "$0.42"], [12.3, "$12.30"]],
  bytes: [[0, "0 B"], [950, "950 B"], [1500, "1.5 KB"], [38e6, "38 MB"], [1.24e9, "1.2 GB"], [76e9, "76 GB"], [2e12, "2.0 TB"]],
  tokens: [[null, "–"], [0, "0"], [950, "950"], [1234, "1.2 k"], [38_400, "38 k"], [1_234_567, "1.2 M"]],
  percent: [[0.384, "38 %"], [1, "100 %"]],
  baseName: [["/home/me/project", "project"], ["/home/me/project/", "project"], ["/", "/"], ["", ""], [null, ""]],
  modelName: [["claude-opus-4-1-20250805", "opus-4-1"], ["sonnet", "sonnet"], [null, ""]],
  oneLine: [["a\r\n\tb", "a b"], ["a\u202eb\u0000c\u200dd", "a\ufffdb\ufffdc\ufffdd"], ["grün 👋", "grün 👋"]],
};

for (const [name, cases] of Object.entries(TABLE)) {
  for (const [given, words] of cases) {
    test(`${name}(${JSON.stringify(given)}) is ${JSON.stringify(words)}`, () => {
      assert.equal(format[name](given), words);
    });
  }
}

test("one is one, and all else is many", () => {
  const { counted } = format;
  assert.deepEqual([0, 1, 3].map((count) => counted(count, "file")), ["0 files", "1 file", "3 files"]);
  assert.equal(counted(2, "search", "searches"), "2 searches");
});

test("the day is told where it is not today's", () => {
  const today = new Date().getTime() / 1000;
  assert.doesNotMatch(format.timeOfDay(today), /,/);
  assert.match(format.timeOfDay(today - 86_400 * 2), /, /);
});
