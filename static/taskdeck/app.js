/* Taskdeck. Only what HTML and htmx cannot do; every page works without these files.
   They share one scope and talk by events of the document: live:news, live:again, live:page, live:count, shown, tick. */
"use strict";

/* The server has already remembered the theme in its cookie: show it without loading the page again. */
function showTheme(event) {
  const root = document.documentElement;
  if (event.detail.theme === "system") root.removeAttribute("data-theme");
  else root.dataset.theme = event.detail.theme;
}

/* Said to who cannot see it: counts of the inbox and outcomes of one's own, never the churn of rows. */
function say(text) {
  const announcer = document.getElementById("announcer");
  if (announcer) announcer.textContent = text;
}

function tell(name, detail) {
  document.dispatchEvent(new CustomEvent(name, { detail }));
}

async function copyText(text, what) {
  if (!navigator.clipboard) return;
  await navigator.clipboard.writeText(text);
  say(what + " copied");
}

/* What is of use only with these files is hidden until they are there; so is what was put in place since. */
function showScripted() {
  for (const each of document.querySelectorAll("[data-scripted]")) each.hidden = false;
  tell("shown");
}

/* Whether somebody has typed or chosen something in a form of the page that was not taken: not sent, or sent back. */
function hasDraft() {
  if (document.querySelector("main [data-draft]")) return true;
  return [...document.querySelectorAll("main form :is(input, select, textarea)")].some(isChanged);
}

function isChanged(control) {
  if (control.type === "hidden") return false;
  if (control.matches("[type=checkbox], [type=radio]")) return control.checked !== control.defaultChecked;
  if (!control.matches("select")) return control.value !== control.defaultValue;
  const usual = [...control.options].findIndex((each) => each.defaultSelected);
  return control.selectedIndex !== Math.max(usual, 0);
}

document.addEventListener("theme", showTheme);
showScripted();
