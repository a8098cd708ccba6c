/* Countdowns and ages, by the server's clock: one timer a page. The words are those of console/present.py. */
"use strict";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CLOCK_SLACK = 2000;
const TIMES = ["relative", "local", "utc"];
const clock = { offset: 0 };

function startClock() {
  const meta = document.querySelector('meta[name="server-time"]');
  if (meta) clock.offset = Number(meta.content) * 1000 - Date.now();
  setInterval(() => tell("tick"), 1000);
}

/* Every answer says what time it is; a page that came out of the browser's cache was wrong about it. */
function setClock(date) {
  const offset = Date.parse(date || "") - Date.now();
  if (Math.abs(offset - clock.offset) > CLOCK_SLACK) clock.offset = offset;
}

function secondsUntil(iso) {
  return Math.trunc((Date.parse(iso) - Date.now() - clock.offset) / 1000);
}

function span(seconds) {
  if (seconds >= 2 * DAY) return Math.trunc(seconds / DAY) + "d";
  if (seconds >= HOUR) return Math.trunc(seconds / HOUR) + "h";
  if (seconds >= MINUTE) return Math.trunc(seconds / MINUTE) + "m";
  return Math.max(seconds, 0) + "s";
}

function countdown(seconds) {
  if (seconds <= 0) return [span(-seconds) + " ago", ""];
  if (seconds >= 10 * MINUTE) return [span(seconds), seconds < HOUR ? "soon" : ""];
  const rest = String(seconds % MINUTE).padStart(2, "0");
  return [Math.trunc(seconds / MINUTE) + ":" + rest, seconds < MINUTE ? "now" : "near"];
}

function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/* How times are shown: as a distance from now, or as a time of day here or in Greenwich. */
function timeMode() {
  return localStorage.getItem("times") || TIMES[0];
}

function cycleTimes() {
  const mode = TIMES[(TIMES.indexOf(timeMode()) + 1) % TIMES.length];
  localStorage.setItem("times", mode);
  showTimes();
  const here = accountZone();
  say({ relative: "Times from now", local: here ? "Times in " + here : "Local times", utc: "Times in UTC" }[mode]);
}

/* The zone that the account chose, if it did; otherwise local is where the browser is. */
function accountZone() {
  return document.documentElement.dataset.zone || "";
}

function zoneOf(mode) {
  const name = mode === "utc" ? "UTC" : accountZone();
  return name ? { timeZone: name } : {};
}

/* Today by its hour, another day by its date. */
function timeOfDay(iso, mode) {
  const at = new Date(iso);
  const zone = zoneOf(mode);
  const day = (date) => date.toLocaleDateString("en-GB", { day: "numeric", month: "short", ...zone });
  if (day(at) !== day(new Date(Date.now() + clock.offset))) return day(at);
  return at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...zone }) + (mode === "utc" ? "Z" : "");
}

/* A time that the server wrote out can be read in local time or in UTC; its words are kept to go back to. */
function showMoment(element, mode) {
  element.dataset.said ??= element.textContent;
  const options = { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" };
  if ("full" in element.dataset) Object.assign(options, { day: "numeric", month: "short", year: "numeric" });
  if ("bare" in element.dataset) delete options.timeZoneName;
  Object.assign(options, zoneOf(mode));
  const isSaid = mode === "relative";
  show(element, isSaid ? element.dataset.said : new Date(element.dateTime).toLocaleString("en-GB", options));
}

function showTimes() {
  if (document.hidden) return;
  const mode = timeMode();
  for (const each of document.querySelectorAll("time.at")) showMoment(each, mode);
  for (const each of document.querySelectorAll("time.exp")) {
    const [words, urgency] = countdown(secondsUntil(each.dateTime));
    const text = mode === "relative" || !each.closest(".tasks") ? words : timeOfDay(each.dateTime, mode);
    show(each, text);
    const name = urgency ? "exp " + urgency : "exp";
    if (each.className !== name) each.className = name;
  }
  for (const each of document.querySelectorAll("time.ago")) {
    show(each, mode === "relative" ? span(-secondsUntil(each.dateTime)) : timeOfDay(each.dateTime, mode));
  }
}

document.addEventListener("tick", showTimes);
startClock();
