/* Rows that somebody picked: the boxes are the truth, and the bar beside them says what can be done with them. */
"use strict";

function picks() {
  return [...document.querySelectorAll(".pick")];
}

function picked() {
  return picks().filter((each) => each.checked);
}

function showPicked() {
  const words = document.querySelector("[data-picked]");
  const all = document.querySelector("[data-pick-all]");
  if (!words || !all) return;
  const count = picked().length;
  show(words, count + " selected");
  all.checked = count > 0 && count === picks().length;
  all.indeterminate = count > 0 && !all.checked;
}

function pickAll(isPicked) {
  for (const each of picks()) each.checked = isPicked;
  showPicked();
}

function focusedPick() {
  const row = document.activeElement.closest('tr[id^="task-"]');
  return row && row.querySelector(".pick");
}

function togglePick() {
  const box = focusedPick();
  if (box) box.checked = !box.checked;
  showPicked();
}

/* Both ends of the step are picked: the row that one leaves, and the one that one comes to. */
function extendPicks(step) {
  for (const move of [0, step]) {
    if (move) moveBy(move);
    const box = focusedPick();
    if (box) box.checked = true;
  }
  showPicked();
}

/* A key for a row acts on what is picked or, when nothing is, on the row that has the focus. */
function actOnRow(key) {
  const box = focusedPick();
  if (box && !picked().length) box.checked = true;
  showPicked();
  const button = document.querySelector(`#bulk [data-key="${key}"]`);
  if (button && picked().length) button.click();
}

function copyPicked() {
  copyText(picked().map((each) => each.value).join("\n"), picked().length + " ids");
}

/* What is asked before something is done comes from the server, which knows what it would do. */
function showQuestion(event) {
  const dialog = event.target;
  if (dialog.id !== "bulk-dialog") return;
  if (!dialog.matches(":popover-open")) dialog.showPopover();
  (dialog.querySelector("textarea, select") || dialog.querySelector("a")).focus();
}

function onPickClick(event) {
  if (event.target.closest("[data-copy-ids]")) copyPicked();
  if (event.target.closest("[data-pick-all]")) pickAll(event.target.checked);
  const hide = event.target.closest(":popover-open [data-hide]");
  if (!hide) return;
  event.preventDefault();
  hide.closest("[popover]").hidePopover();
}

function startPicks() {
  document.addEventListener("click", onPickClick);
  document.addEventListener("change", showPicked);
  document.addEventListener("reset", () => setTimeout(showPicked));
  document.addEventListener("htmx:afterSwap", showQuestion);
  document.addEventListener("shown", offerIds);
  addEventListener("pageshow", showPicked);
  offerIds();
}

function offerIds() {
  const copy = document.querySelector("[data-copy-ids]");
  if (copy) copy.hidden = !navigator.clipboard;
}

startPicks();
