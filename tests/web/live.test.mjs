/** The page's one socket: what it asks for, what it acknowledges, and how it goes on after a break. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Clock, makePage, Socket, WEB } from "./support.mjs";

const { Live } = await import(new URL("live.js", WEB).href);

Math.random = () => 0.5; // pauses are as long as they are on average

let clock, page, signedIn;

beforeEach(() => {
  page = makePage();
  clock = new Clock();
  signedIn = true;
});

function connect() {
  const live = new Live({ stillSignedIn: async () => signedIn });
  live.start();
  return live;
}

function view(session, seq, more = {}) {
  return { type: "view", session, seq, reset: false, rows: [], ...more };
}

test("it connects to the hub that the page came from", () => {
  connect();
  assert.equal(Socket.last.url, "ws://127.0.0.1:4280/api/live");
  globalThis.location = { protocol: "https:", host: "box.example.net" };
  connect();
  assert.equal(Socket.last.url, "wss://box.example.net/api/live");
});

test("what was followed before the socket was open is asked for once it is greeted", () => {
  const live = connect();
  live.follow("s1", () => {});
  live.followHome(() => {});
  assert.deepEqual(Socket.last.sent, []);
  Socket.last.welcome();
  assert.deepEqual(Socket.last.sent, [
    { type: "home", on: true },
    { type: "follow", session: "s1", as: "view", deltas: true },
  ]);
});

test("what is followed between opening and greeting is asked for once", () => {
  const live = connect();
  Socket.last.accept();
  live.follow("s1", () => {});
  live.followHome(() => {});
  Socket.last.welcome();
  assert.equal(Socket.last.of("follow").length, 1);
  assert.equal(Socket.last.of("home").length, 1);
});

test("it knows who we are and how far the hub's clock is ahead", () => {
  const live = connect();
  Socket.last.accept();
  Socket.last.say({ type: "hello", server_time: Date.now() / 1000 + 90, me: { name: "ida", role: "viewer" } });
  assert.deepEqual(live.me.value, { name: "ida", role: "viewer" });
  assert.equal(Math.round(live.ahead), 90);
});

test("messages reach the follower of their session only", () => {
  const live = connect();
  const got = { s1: [], s2: [] };
  live.follow("s1", (message) => got.s1.push(message.seq));
  live.follow("s2", (message) => got.s2.push(message.seq));
  Socket.last.welcome();
  for (const [session, seq] of [["s1", 3], ["s2", 8], ["s1", 4], ["s3", 1]]) Socket.last.say(view(session, seq));
  assert.deepEqual(got, { s1: [3, 4], s2: [8] });
});

test("many messages are acknowledged at once, a little later, and never twice", async () => {
  const live = connect();
  live.follow("s1", () => {});
  live.follow("s2", () => {});
  Socket.last.welcome();
  for (const seq of [1, 2, 3]) Socket.last.say(view("s1", seq));
  Socket.last.say(view("s2", 9));
  assert.deepEqual(Socket.last.of("ack"), []);
  await clock.pass(300);
  const acks = [
    { type: "ack", session: "s1", seq: 3 },
    { type: "ack", session: "s2", seq: 9 },
  ];
  assert.deepEqual(Socket.last.of("ack"), acks);
  Socket.last.say(view("s1", 3, { state: { title: "new" } }));
  Socket.last.say({ type: "delta", session: "s2", delta: { block: "b", offset: 0, text: "x" } });
  await clock.pass(300);
  assert.deepEqual(Socket.last.of("ack"), acks);
});

test("after a break it goes on behind what it has", async () => {
  const live = connect();
  live.follow("tail", () => {});
  live.follow("fresh", () => {});
  live.follow("events", () => {}, { as: "events", after: 5, deltas: false });
  Socket.last.welcome();
  Socket.last.say(view("tail", 7));
  Socket.last.say({ type: "event", session: "events", event: { seq: 6 } });
  Socket.last.say({ type: "delta", session: "events", delta: {} });
  Socket.last.drop();
  assert.equal(live.connection.value, "lost");
  await clock.pass(300);
  Socket.last.welcome();
  assert.equal(Socket.all.length, 2);
  assert.deepEqual(Socket.last.of("follow"), [
    { type: "follow", session: "tail", as: "view", deltas: true, after: 7 },
    { type: "follow", session: "fresh", as: "view", deltas: true },
    { type: "follow", session: "events", as: "events", deltas: false, after: 6 },
  ]);
});

test("it is open again when all that was asked for has answered", async () => {
  const live = connect();
  const seen = [];
  live.connection.watch((connection) => seen.push(connection));
  live.follow("view", () => {});
  live.follow("events", () => {}, { as: "events", after: 0 });
  live.followHome(() => {});
  Socket.last.welcome();
  Socket.last.drop();
  await clock.pass(300);
  Socket.last.welcome();
  Socket.last.say({ type: "home", reset: true });
  Socket.last.say({ type: "event", session: "events", event: { seq: 1 } });
  Socket.last.say({ type: "delta", session: "view", delta: {} });
  Socket.last.say(view("view", 1, { reset: true }));
  assert.equal(live.connection.value, "catching_up");
  Socket.last.say({ type: "caught_up", session: "events", seq: 1 });
  assert.deepEqual(seen, ["open", "lost", "catching_up", "open"]);
});

test("an old socket is not listened to any more", async () => {
  const live = connect();
  const got = [];
  live.follow("s1", (message) => got.push(message.seq));
  const old = Socket.last;
  old.welcome();
  old.drop();
  await clock.pass(300);
  Socket.last.welcome();
  old.say(view("s1", 1));
  old.drop();
  Socket.last.say(view("s1", 2));
  assert.deepEqual(got, [2]);
  assert.equal(Socket.all.length, 2);
});

test("it waits longer each time, up to ten seconds, and starts over once it was greeted", async () => {
  connect();
  const pauses = [300, 600, 1200, 2400, 4800, 9600, 10_000, 10_000];
  for (const pause of pauses) {
    const sockets = Socket.all.length;
    Socket.last.drop();
    await clock.pass(pause - 1);
    assert.equal(Socket.all.length, sockets);
    await clock.pass(1);
    assert.equal(Socket.all.length, sockets + 1);
  }
  Socket.last.welcome();
  Socket.last.drop();
  await clock.pass(300);
  assert.equal(Socket.all.length, pauses.length + 2);
});

test("whoever is not signed in is not connected again, until they are", async () => {
  const live = connect();
  Socket.last.welcome();
  signedIn = false;
  Socket.last.drop();
  await clock.pass(60_000);
  page.window.dispatchEvent(new Event("online"));
  assert.equal(live.connection.value, "signed_out");
  assert.equal(Socket.all.length, 1);
  signedIn = true;
  live.start();
  Socket.last.welcome();
  assert.equal(Socket.all.length, 2);
});

test("stopping closes the socket for good", async () => {
  const live = connect();
  Socket.last.welcome();
  live.stop();
  await clock.pass(60_000);
  assert.deepEqual([live.connection.value, Socket.all.length, Socket.last.readyState], ["signed_out", 1, 3]);
});

test("whoever signs off while it is being asked whether they are signed in stays signed off", async () => {
  let answer;
  const live = new Live({ stillSignedIn: () => new Promise((resolve) => (answer = resolve)) });
  live.start();
  Socket.last.drop();
  live.stop();
  answer(true);
  await clock.pass(60_000);
  assert.deepEqual([live.connection.value, Socket.all.length], ["signed_out", 1]);
});

test("a network that is back is tried at once", async () => {
  connect();
  for (let times = 0; times < 6; times += 1) {
    Socket.last.drop();
    await clock.pass(10_000);
  }
  const sockets = Socket.all.length;
  Socket.last.drop();
  await clock.pass(0);
  page.window.dispatchEvent(new Event("online"));
  assert.equal(Socket.all.length, sockets + 1);
  await clock.pass(20_000);
  assert.equal(Socket.all.length, sockets + 1, "and not once more when the pause is over");
});

test("a network that went away without a word is noticed", async () => {
  const live = connect();
  Socket.last.welcome();
  await clock.pass(25_000);
  assert.equal(Socket.last.of("ping").length, 1);
  Socket.last.say({ type: "pong" });
  await clock.pass(20_000);
  assert.equal(live.connection.value, "open");
  await clock.pass(60_000);
  assert.equal(live.connection.value, "lost");
  assert.equal(Socket.all.length, 2);
});

test("a socket that was just opened is not taken for a dead one", async () => {
  connect();
  await clock.pass(19_000);
  Socket.last.drop();
  await clock.pass(300);
  Socket.last.accept();
  await clock.pass(5_000);
  assert.equal(Socket.last.readyState, Socket.OPEN);
});

test("a session has one follower, the newest, and only its end ends it", () => {
  const live = connect();
  const got = [];
  const first = live.follow("s1", () => got.push("first"));
  const second = live.follow("s1", () => got.push("second"));
  Socket.last.welcome();
  first();
  Socket.last.say(view("s1", 1));
  assert.deepEqual(Socket.last.of("unfollow"), []);
  second();
  Socket.last.say(view("s1", 2));
  assert.deepEqual(Socket.last.of("unfollow"), [{ type: "unfollow", session: "s1" }]);
  assert.deepEqual(got, ["second"]);
});

test("the hub is told when the page is hidden, also of a page that was when it connected", async () => {
  connect();
  Socket.last.welcome();
  assert.deepEqual(Socket.last.of("visible"), []);
  page.document.hidden = true;
  page.document.dispatchEvent(new Event("visibilitychange"));
  assert.deepEqual(Socket.last.of("visible"), [{ type: "visible", on: false }]);
  Socket.last.drop();
  await clock.pass(300);
  Socket.last.welcome();
  assert.deepEqual(Socket.last.of("visible"), [{ type: "visible", on: false }]);
  page.document.hidden = false;
  page.document.dispatchEvent(new Event("visibilitychange"));
  assert.deepEqual(Socket.last.of("visible").at(-1), { type: "visible", on: true });
});
