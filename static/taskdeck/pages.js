/* Reading a page again: the server renders it with its own checks, and regions marked data-live are put in place. */
"use strict";

const COALESCE = 250;
const PAGE_PAUSE = 1000;
/* After a reading that took long the next one waits for so many times as long: tabs make room for each other. */
const ROWS_SHARE = 10;
const PAGE_SHARE = 40;
const LONGEST_PAUSE = 10000;
const reading = { timer: 0, last: 0, took: 0, isBusy: false, isStale: false };

/* The text at an address; null when there is none, which must never break the page that is open. */
async function read(address) {
  try {
    const response = await fetch(address, { headers: { "X-Live": "1" } });
    setClock(response.headers.get("Date"));
    if (response.redirected) tell("live:signed-out");
    return response.ok && !response.redirected ? await response.text() : null;
  } catch {
    return null;
  }
}

/* A page that was sent by a form has another address to read it from; a part of it may know a better one. */
function pageAddress() {
  const own = [...document.querySelectorAll("[data-address]")].at(-1);
  return own ? own.dataset.address : location.pathname + location.search;
}

function parse(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

/* Soon, and not more often than the pause allows. What is heard during a reading may be missing in it: read again. */
function readPageSoon() {
  reading.isStale = reading.isBusy;
  if (reading.isBusy || reading.timer || !document.querySelector("[data-live], [data-empty]")) return;
  reading.timer = setTimeout(readPage, waitFor(Date.now()));
}

/* A page of numbers says how often it is worth a reading, and how long it takes until a change is in them. */
function waitFor(now) {
  const slow = document.querySelector("[data-pause]");
  const { pause, settle } = slow ? slow.dataset : { pause: PAGE_PAUSE, settle: COALESCE };
  return Math.max(Number(settle), reading.last + paced(Number(pause), PAGE_SHARE, reading.took) - now);
}

function paced(pause, share, took) {
  return Math.min(Math.max(pause, share * took), LONGEST_PAUSE);
}

async function readPage() {
  Object.assign(reading, { timer: 0, isBusy: true });
  const begun = Date.now();
  const text = await read(pageAddress());
  Object.assign(reading, { last: Date.now(), took: Date.now() - begun, isBusy: false });
  if (reading.isStale) readPageSoon();
  if (text === null || !isFollowing()) return;
  const page = parse(text);
  if (isFirst(page)) return replaceMain(page);
  if (hasEnded(page)) return showEnd(page);
  for (const region of document.querySelectorAll("[data-live]")) putInPlace(region, page);
  tell("live:page", page);
}

/* Something is there at last, on a page that said that there was nothing. */
function isFirst(page) {
  return document.querySelector("main [data-empty]") && !page.querySelector("main [data-empty]");
}

/* The task has expired: its page is another now, which shows what remains. */
function hasEnded(page) {
  const state = 'main [data-live="state"]';
  return document.querySelector(state) && page.querySelector("main [data-ended]") && !page.querySelector(state);
}

/* What somebody typed is not given up for it: the form locks, and only what stands above it changes. */
function showEnd(page) {
  if (!hasDraft()) return replaceMain(page);
  const ended = document.adoptNode(page.querySelector("main [data-ended]"));
  document.querySelector('main [data-live="state"]').replaceChildren(...ended.childNodes);
  document.querySelector('main [data-live="acts"]').replaceChildren();
  checkFormsSoon();
}

function replaceMain(page) {
  const main = document.adoptNode(page.querySelector("main"));
  document.querySelector("main").replaceWith(main);
  htmx.process(main);
  showScripted();
  subscribe();
}

function putInPlace(region, page) {
  const fresh = page.querySelector(`[data-live="${region.dataset.live}"]`);
  if (!fresh || fresh.innerHTML === region.innerHTML || isInUse(region)) return;
  const opened = openFolds(region);
  region.replaceChildren(...document.adoptNode(fresh).childNodes);
  for (const fold of region.querySelectorAll("details")) if (opened.has(foldName(fold))) fold.open = true;
  showScripted();
}

/* Where somebody is, by focus, by a text they marked or in an open sheet, nothing moves. */
function isInUse(region) {
  const marked = document.getSelection();
  const isMarked = !marked.isCollapsed && region.contains(marked.anchorNode);
  const isFocused = region !== document.activeElement && region.contains(document.activeElement);
  return isFocused || isMarked || region.matches(":popover-open");
}

function openFolds(region) {
  return new Set([...region.querySelectorAll("details[open]")].map(foldName));
}

function foldName(fold) {
  const path = [];
  for (let at = fold; at; at = at.parentElement.closest("details")) path.push(at.querySelector("summary").textContent);
  return path.join("\n").replace(/\d+/g, "");
}
