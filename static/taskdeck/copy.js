/* Buttons that copy: what stands beside them, a whole value as the server keeps it, or one value or path of a tree.
   Without a clipboard there are none. */
"use strict";

const COPIED_MS = 1500;

function markCopied(button) {
  const icon = button.querySelector("use");
  if (!icon) return;
  const drawn = icon.getAttribute("href");
  icon.setAttribute("href", drawn.replace("#copy", "#completed"));
  setTimeout(() => icon.setAttribute("href", drawn), COPIED_MS);
}

/* The text is fetched, never rebuilt from what is shown: that is folded and cut, and numbers must stay as they are. */
async function copyFrom(button) {
  const { copy, copyFrom: address, what } = button.dataset;
  const text = address ? await read(address) : document.querySelector(copy).textContent;
  if (text === null) return say(what + " could not be read");
  await copyText(text, what);
  markCopied(button);
}

function pathButton(words, text) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", textContent: words, className: "leaf-copy" });
  button.addEventListener("click", (event) => {
    event.preventDefault();
    copyText(text(), words.replace("Copy ", ""));
    button.textContent = "Copied";
  });
  return button;
}

/* One pair of buttons a page, at the row that is pointed at or has the focus. */
function offerPath(row) {
  if (row.querySelector(".leaf-copy")) return;
  for (const each of document.querySelectorAll(".leaf-copy")) each.remove();
  const value = row.querySelector(".v");
  if (value && !("cut" in row.dataset)) row.append(pathButton("Copy value", () => plainValue(value.textContent)));
  if (row.dataset.path) row.append(pathButton("Copy path", () => row.dataset.path));
}

/* A string without its quotation marks; everything else, numbers above all, as it is written. */
function plainValue(text) {
  return text.startsWith('"') && text.endsWith('"') ? JSON.parse(text) : text;
}

function onPoint(event) {
  const row = event.target.closest && event.target.closest("[data-json] [data-path]");
  if (row) offerPath(row);
}

function offerCopies() {
  for (const button of document.querySelectorAll("[data-copy], [data-copy-from]")) button.hidden = !navigator.clipboard;
}

function startCopy() {
  offerCopies();
  document.addEventListener("shown", offerCopies);
  if (!navigator.clipboard) return;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from]");
    if (button) copyFrom(button);
  });
  document.addEventListener("pointerover", onPoint);
  document.addEventListener("focusin", onPoint);
}

startCopy();
