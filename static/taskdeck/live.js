/* The socket of this tab. It hears ids and versions only; what they mean is read from the pages, with their checks. */
"use strict";

const POLL_SECONDS = 10;
const AGAIN_SECONDS = 30;
const TRIES_BEFORE_POLLING = 3;
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30000;
const SIGNED_OUT = 4401;
const live = { socket: null, state: "retry", tries: 0, read: Date.now() };
Object.assign(live, { isPaused: false, isStale: false, hasEnded: false });

/* Whether what is heard is also fetched: not while paused, not in a tab that nobody sees. */
function isFollowing() {
  return !live.isPaused && !document.hidden && !live.hasEnded;
}

function socketAddress() {
  return (location.protocol === "https:" ? "wss://" : "ws://") + location.host + "/live";
}

function wanted() {
  const { watch, scope } = document.querySelector("main").dataset;
  return JSON.stringify({ watch: watch.split(" "), scope });
}

function connect() {
  const socket = new WebSocket(socketAddress());
  live.socket = socket;
  socket.addEventListener("open", subscribe);
  socket.addEventListener("message", (event) => hear(JSON.parse(event.data)));
  socket.addEventListener("close", (event) => lose(event.code));
}

function subscribe() {
  if (live.socket.readyState === WebSocket.OPEN) live.socket.send(wanted());
}

function hear(message) {
  if (message.t === "watching") return begin();
  if (message.again) catchUp();
  if (message.inbox) readCount();
  if (!isFollowing()) {
    live.isStale = true;
    return;
  }
  live.read = Date.now();
  tell("live:news", message);
  readPageSoon();
}

function begin() {
  live.tries = 0;
  setState("live");
  catchUp();
}

/* Full jitter: many tabs that lost the same server do not come back at the same moment. */
function lose(code) {
  if (live.hasEnded) return;
  if (code === SIGNED_OUT) return end();
  live.tries += 1;
  setState(live.tries > TRIES_BEFORE_POLLING ? "polling" : "retry");
  setTimeout(connect, Math.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** live.tries));
}

function end() {
  live.hasEnded = true;
  setState("ended");
}

/* Read everything that is shown again: what was missed is not sent twice. */
function catchUp() {
  readCount();
  live.isStale = !isFollowing();
  if (live.isStale) return;
  live.read = Date.now();
  readPageSoon();
  tell("live:again");
}

/* The bus may lose a message, so a page reads again now and then; without a socket, more often. */
function keepUp() {
  showState();
  const age = Date.now() - live.read;
  if (live.state === "polling" && age >= POLL_SECONDS * 1000) catchUp();
  if (live.state === "live" && age >= AGAIN_SECONDS * 1000) catchUp();
}

function setState(state) {
  live.state = state;
  showState();
}

function showState() {
  const chip = document.querySelector(".live");
  if (!chip) return;
  const state = live.isPaused ? "paused" : live.state;
  chip.hidden = false;
  if (chip.dataset.state !== state) chip.dataset.state = state;
  show(chip, stateWords(state));
}

function stateWords(state) {
  const age = Math.trunc((Date.now() - live.read) / 1000);
  const old = age >= 5 ? ` (data ${age} s old)` : "";
  return {
    live: "Live",
    retry: "Reconnecting…" + old,
    polling: `Polling every ${POLL_SECONDS} s`,
    paused: "Paused (p)",
    ended: "Signed out",
  }[state];
}

function togglePause() {
  live.isPaused = !live.isPaused;
  showState();
  if (!live.isPaused) catchUp();
}

async function readCount() {
  const badge = document.querySelector("[data-count]");
  const text = badge && !live.hasEnded ? await read(badge.dataset.count) : null;
  if (text === null) return;
  const said = JSON.parse(text);
  showCount(badge, said.open);
  tell("live:count", said);
}

function showCount(badge, count) {
  const number = badge.querySelector("[data-number]");
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = count ? `(${count}) ${title}` : title;
  if (number.textContent === String(count)) return;
  number.textContent = count;
  badge.hidden = count === 0;
  say(count === 1 ? "1 question waits for you" : `${count} questions wait for you`);
}

function startLive() {
  if (!document.querySelector("main[data-watch]")) return;
  connect();
  document.addEventListener("tick", keepUp);
  document.addEventListener("live:signed-out", end);
  document.addEventListener("visibilitychange", () => live.isStale && isFollowing() && catchUp());
  document.querySelector(".live").addEventListener("click", togglePause);
}

startLive();
