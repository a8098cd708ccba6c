/* The keyboard. Elements say which key they answer to (data-key); here is only what no element can say.
   Never while somebody types, except Esc and Ctrl+Enter; and there is deliberately no key that accepts. */
"use strict";

const CHORD_PAUSE = 1500;
const PLACES = { t: "/tasks/", i: "/inbox/", o: "/overview/", x: "/expirations/", l: "/tools/", c: "/connect/" };
const ITEMS = ".tasks .name, .exps .name, .mail a";
/* Filters and the theme work where there is no room to show them, too. */
const OUT_OF_SIGHT = ["1", "2", "3", "4", "5", "6", "T"];
const FIELD = "input:not([type=hidden], [type=search]):enabled, select:enabled, textarea:enabled";
const ACTS = {
  j: () => moveBy(1),
  k: () => moveBy(-1),
  J: () => extendPicks(1),
  K: () => extendPicks(-1),
  s: togglePick,
  x: () => actOnRow("x"),
  e: () => actOnRow("e"),
  z: cycleTimes,
  Home: goHome,
  o: () => document.activeElement.matches(ITEMS) && document.activeElement.click(),
  i: focusField,
  n: () => goTo("i"),
  y: copyHere,
  ".": () => catchUp(),
  "?": () => document.getElementById("keys").togglePopover(),
};
const CHORDS = { g: goTo, "*": (key) => key === "a" && pickAll(true) };
const chord = { first: "", at: 0 };

function onKey(event) {
  if (event.defaultPrevented || event.isComposing) return;
  if (event.key === "Escape") return leave();
  const isModified = event.ctrlKey || event.metaKey || event.altKey;
  if (event.key === "Enter" && isModified && !event.altKey) return sendForm(event);
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) return openFromKey(event);
  if (isModified || isTyping(event.target) || !areKeysOn()) return;
  if (event.key === "Enter" ? pressEnter(event) : press(event.key)) event.preventDefault();
}

/* Not a single character, so it works where those are switched off, and in a field too. */
function openFromKey(event) {
  event.preventDefault();
  openPalette();
}

/* Does what the key stands for; says whether it stands for anything. */
function press(key) {
  const first = Date.now() - chord.at < CHORD_PAUSE ? chord.first : "";
  Object.assign(chord, { first: "", at: 0 });
  if (first && CHORDS[first](key) !== false) return true;
  if (key in CHORDS) return Boolean(Object.assign(chord, { first: key, at: Date.now() }));
  const element = [...document.querySelectorAll("[data-key]")].find((each) => isFor(each, key));
  if (element) return use(element);
  if (!(key in ACTS)) return false;
  return ACTS[key]() !== false;
}

function isFor(element, key) {
  const isThere = OUT_OF_SIGHT.includes(key) || element.checkVisibility();
  return element.dataset.key === key && !element.disabled && isThere;
}

function use(element) {
  if (element.matches("a, button") && !("focus" in element.dataset)) element.click();
  else element.focus();
  return true;
}

function isTyping(element) {
  return element.matches("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]");
}

/* One thing at a time: out of the field, then what is open (the browser closes that), then what is picked. */
function leave() {
  if (isTyping(document.activeElement)) document.activeElement.blur();
  else if (!document.querySelector(":popover-open")) pickAll(false);
}

function goHome() {
  const pill = document.querySelector("[data-new]:not([hidden])");
  if (pill) pill.click();
  else scrollTo({ top: 0 });
}

function goTo(letter) {
  const link = letter in PLACES && document.querySelector(`.nav a[href="${PLACES[letter]}"]`);
  if (link) link.click();
  return Boolean(link);
}

function moveBy(step) {
  const items = [...document.querySelectorAll(ITEMS)];
  const at = items.indexOf(document.activeElement);
  const next = items[at < 0 ? 0 : at + step];
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function focusField() {
  const form = document.querySelector("form[data-question]");
  const field = form && (form.querySelector(FIELD) || form.querySelector("button"));
  if (field) field.focus();
  return Boolean(field);
}

/* On a row, with Shift, the task opens in a tab of its own. */
function pressEnter(event) {
  if (!event.shiftKey || !event.target.matches(ITEMS)) return focusFromList(event.target);
  window.open(event.target.href, "_blank", "noopener");
  return true;
}

/* Enter on the question that is open already, or on nothing at all in the inbox, leads into its form. */
function focusFromList(element) {
  const isOpen = element.matches('.mail a[aria-current="true"]');
  const isNowhere = element.matches("body, main") && document.querySelector(".inbox");
  return (isOpen || isNowhere) && focusField();
}

function sendForm(event) {
  const form = event.target.closest("form[data-question]") || document.querySelector(".inbox form[data-question]");
  const send = form && form.querySelector('button[value="accept"]:enabled');
  if (!send) return;
  event.preventDefault();
  form.requestSubmit(send);
}

function copyHere() {
  const row = document.activeElement.closest('tr[id^="task-"]');
  if (row) copyText(row.id.slice(5), "Id");
  else if (document.querySelector("[data-questions]")) copyText(location.origin + location.pathname, "Link");
}

/* Whether single characters are shortcuts is remembered by the server, for this person. */
function areKeysOn() {
  return document.documentElement.dataset.keys === "on";
}

function setKeys(isOn) {
  document.documentElement.dataset.keys = isOn ? "on" : "off";
}

function startKeys() {
  const box = document.getElementById("keys-on");
  if (!box) return;
  setKeys(document.body.dataset.singleKeys === "on");
  box.addEventListener("change", () => setKeys(box.checked));
  document.addEventListener("keydown", onKey);
}

startKeys();
