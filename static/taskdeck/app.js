/* Taskdeck. Only what HTML and htmx cannot do; every page works without these files.
   They share one scope and talk by events of the document: live:news, live:again, live:page, live:count, tick. */
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

/* What is of use only with these files is hidden until they are there. */
function showScripted() {
  for (const each of document.querySelectorAll("[data-scripted]")) each.hidden = false;
}

document.addEventListener("theme", showTheme);
showScripted();
