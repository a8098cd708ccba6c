/* Notifications of the browser: only after somebody asked for them, only while nobody looks, and without what is asked. */
"use strict";

const TOLD = "told";
const notice = { newest: null };

/* The first count of a page is where it starts from: only what comes after that is news. */
function hearCount({ newest, url, notify }) {
  const before = notice.newest;
  notice.newest = Math.max(newest, before || 0);
  const isNew = before !== null && newest > before;
  if (!isNew || !notify || wasTold(newest) || !document.hidden) return;
  if ("Notification" in window && Notification.permission === "granted") showNotice(newest, url);
}

/* Several tabs hear of the same question; one of them, or one that is in view, is enough. */
function wasTold(newest) {
  const isTold = localStorage.getItem(TOLD) === String(newest);
  localStorage.setItem(TOLD, String(newest));
  return isTold;
}

function showNotice(newest, url) {
  try {
    const shown = new Notification("Taskdeck", { body: "A task needs your input", tag: "question-" + newest });
    shown.addEventListener("click", () => openQuestion(shown, url));
  } catch {
    /* Some browsers of phones know the name and refuse the thing: the count in the title is still there. */
  }
}

/* What was typed elsewhere is not given up for it. */
function openQuestion(shown, url) {
  shown.close();
  window.focus();
  if (document.querySelector("form[data-typed]")) open(url, "_blank", "noopener");
  else location.assign(url);
}

/* The browser is asked for its permission here and nowhere else: after the click of a person who wants it. */
async function askFirst(event) {
  const form = event.target.closest("form[data-notify-form]");
  const wish = form && form.elements.namedItem("notify");
  if (!wish || (wish.type === "checkbox" && !wish.checked)) return;
  if (!("Notification" in window) || Notification.permission !== "default") return;
  event.preventDefault();
  await Notification.requestPermission();
  form.submit();
}

function showPermission() {
  const place = document.querySelector("[data-notify-state]");
  if (!place) return;
  const state = "Notification" in window ? Notification.permission : "missing";
  const words = {
    denied: "This browser blocks them: allow them for this site in its settings.",
    missing: "This browser knows none.",
    granted: "This browser allows them.",
  };
  place.textContent = words[state] || "";
}

document.addEventListener("live:count", (event) => hearCount(event.detail));
document.addEventListener("submit", askFirst);
showPermission();
