/* A field with a list below it: the server says what to offer, arrows choose, Enter takes it. For search and palette. */
"use strict";

const OPTIONS_PAUSE = 120;
const offering = { timer: 0, asked: 0 };

function listOf(field) {
  return document.getElementById(field.getAttribute("aria-controls"));
}

function optionsIn(field) {
  return [...listOf(field).querySelectorAll('[role="option"]')];
}

function chosenIn(field) {
  return optionsIn(field).find((each) => each.getAttribute("aria-selected") === "true");
}

function offerSoon(field) {
  clearTimeout(offering.timer);
  offering.timer = setTimeout(() => offer(field), OPTIONS_PAUSE);
}

/* Only the newest answer counts, and only while somebody is still there. */
async function offer(field) {
  const asked = (offering.asked += 1);
  const typed = field.value.slice(0, field.selectionEnd);
  const scope = new URLSearchParams(location.search).get("scope") || "";
  const text = await read(field.dataset.options + "?" + new URLSearchParams({ q: typed, scope }));
  if (text === null || asked !== offering.asked || document.activeElement !== field) return;
  listOf(field).replaceChildren(...parse(text).body.children);
  openList(field, optionsIn(field).length > 0);
  if ("first" in field.dataset) choose(field, optionsIn(field)[0]);
}

function openList(field, isOpen) {
  listOf(field).hidden = !isOpen;
  field.setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) field.removeAttribute("aria-activedescendant");
}

function isOpen(field) {
  return field.getAttribute("aria-expanded") === "true";
}

function choose(field, option) {
  for (const each of optionsIn(field)) each.setAttribute("aria-selected", String(each === option));
  if (!option) return field.removeAttribute("aria-activedescendant");
  field.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

function chooseBy(field, step) {
  const options = optionsIn(field);
  const at = options.indexOf(chosenIn(field));
  choose(field, options[(Math.max(at, step > 0 ? -1 : 0) + step + options.length) % options.length]);
}

/* A place is gone to; a word is put where the caret was, and what stood behind it stays. */
function take(field, option) {
  if (option.dataset.href) return location.assign(option.dataset.href);
  const rest = field.value.slice(field.selectionEnd);
  field.value = option.dataset.text + rest.trimStart();
  field.setSelectionRange(option.dataset.text.length, option.dataset.text.length);
  openList(field, false);
  field.focus();
  if (!option.dataset.text.endsWith(" ")) offer(field);
}

function takeChosen(field) {
  const option = isOpen(field) && chosenIn(field);
  if (option) take(field, option);
  return Boolean(option);
}

/* What a key does in such a field; false leaves it to the browser. The browser itself closes a palette. */
const FIELD_KEYS = {
  ArrowDown: (field) => (isOpen(field) ? chooseBy(field, 1) : offer(field), true),
  ArrowUp: (field) => isOpen(field) && (chooseBy(field, -1), true),
  Enter: takeChosen,
  Tab: takeChosen,
  Escape: (field) => isOpen(field) && !field.closest("[popover]") && (openList(field, false), true),
};

function onFieldKey(event) {
  const field = event.target.closest("[data-options]");
  const isModified = event.ctrlKey || event.metaKey || event.altKey || event.isComposing;
  if (field && !isModified && event.key in FIELD_KEYS && FIELD_KEYS[event.key](field)) event.preventDefault();
}

function onOption(event) {
  const option = event.target.closest('[role="option"]');
  if (!option) return;
  event.preventDefault();
  take(document.querySelector(`[aria-controls="${option.parentElement.id}"]`), option);
}

function openPalette() {
  const palette = document.getElementById("palette");
  palette.togglePopover();
  const field = document.getElementById("palette-field");
  if (!palette.matches(":popover-open")) return;
  field.value = "";
  field.focus();
  offer(field);
}

function startOptions() {
  document.addEventListener("keydown", onFieldKey, true);
  document.addEventListener("mousedown", onOption);
  document.addEventListener("input", (event) => event.target.matches("[data-options]") && offerSoon(event.target));
  document.addEventListener("focusout", (event) => {
    if (event.target.matches("[data-options]")) openList(event.target, false);
  });
}

startOptions();
