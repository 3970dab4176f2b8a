/** Addresses of the page: what they name, and how those of one machine are made. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { WEB } from "./support.mjs";

const { onHost, routeOf, sessionPath } = await import(new URL("router.js", WEB).href);

test("an address names a page, with what it is about", () => {
  assert.equal(routeOf("/").name, "inbox");
  assert.deepEqual(routeOf("/s/a%2Fb").params, { id: "a/b" });
  assert.equal(routeOf("/s/a/b").name, "unknown");
  assert.equal(routeOf("/s/%").params.id, "%");
  assert.deepEqual(routeOf(sessionPath("a b")).params, { id: "a b" });
});

test("a query narrows a page, and is no part of its path", () => {
  const route = routeOf("/sessions?host=h1&x=%20y");
  assert.deepEqual([route.name, route.path, route.query], ["sessions", "/sessions", { host: "h1", x: " y" }]);
  assert.deepEqual(routeOf("/sessions").query, {});
});

test("the address of a machine's sessions leads back to it, whatever it is called", () => {
  assert.equal(onHost("/sessions", ""), "/sessions");
  for (const host of ["h1", "a&b=c", "grün?#"]) {
    assert.deepEqual(routeOf(onHost("/new", host)).query, { host });
    assert.equal(routeOf(onHost("/new", host)).name, "new");
  }
});
