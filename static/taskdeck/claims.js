/* Claims: whoever types into a form says so to the others, for a minute at a time. It keeps nobody from answering. */
"use strict";

const RENEW_MS = 25_000;
const IDLE_MS = 600_000;
const REGION = '[data-live^="claim-"]';
const claims = new WeakMap();

function claimOf(form) {
  if (!claims.has(form)) claims.set(form, { sent: 0, typed: 0 });
  return claims.get(form);
}

function claimRegion(form) {
  return form.querySelector(REGION) || form.parentElement.querySelector(REGION);
}

/* The small form beside it, which knows the address and carries the token. */
function claimBody(form, how) {
  const region = claimRegion(form);
  const carrier = region && document.getElementById(region.dataset.live);
  if (!carrier) return null;
  const body = new FormData(carrier);
  body.set("how", how);
  return { address: carrier.action, body };
}

async function sendClaim(form, how) {
  const message = claimBody(form, how);
  if (!message) return;
  claimOf(form).sent = Date.now();
  const headers = { "X-Live": "1" };
  const response = await fetch(message.address, { method: "POST", body: message.body, headers }).catch(() => null);
  if (response && response.ok && !response.redirected) showClaim(form, await response.text());
}

function showClaim(form, text) {
  const region = claimRegion(form);
  if (!region) return;
  const hadFocus = region.contains(document.activeElement);
  region.replaceChildren(...parse(text).body.childNodes);
  if (hadFocus) region.querySelector("button").focus();
}

function isMine(form) {
  const region = claimRegion(form);
  return Boolean(region && region.querySelector('[data-claimed="me"]'));
}

function noteTyping(event) {
  const form = event.target.closest("form[data-question]");
  if (!form || event.target.matches("[data-finds]")) return;
  form.dataset.typed = "";
  const claim = claimOf(form);
  claim.typed = Date.now();
  if (claim.typed - claim.sent > RENEW_MS) sendClaim(form, "take");
}

/* While somebody thinks the claim goes on, though not for ever. */
function keepClaims() {
  const now = Date.now();
  for (const form of document.querySelectorAll("form[data-typed]")) {
    const claim = claimOf(form);
    if (now - claim.typed < IDLE_MS && now - claim.sent > RENEW_MS && isMine(form)) sendClaim(form, "take");
  }
  for (const each of document.querySelectorAll("[data-until]:not([data-lapsed])")) {
    if (secondsUntil(each.dataset.until) >= 0) continue;
    each.dataset.lapsed = "";
    readPageSoon();
  }
}

function clickClaim(event) {
  const button = event.target.closest(REGION + " button");
  if (!button) return;
  const form = button.closest("form[data-question]") || button.closest(".ask").querySelector("form[data-question]");
  if (!form) return;
  event.preventDefault();
  if (button.value === "release") claimOf(form).typed = 0;
  sendClaim(form, button.value);
}

/* Whoever leaves is no longer answering. */
function leaveClaims() {
  for (const form of document.querySelectorAll("form[data-question]")) {
    const message = isMine(form) && claimBody(form, "release");
    if (!message) continue;
    message.body.set("quiet", "1");
    navigator.sendBeacon(message.address, message.body);
  }
}

document.addEventListener("input", noteTyping);
document.addEventListener("click", clickClaim);
document.addEventListener("tick", keepClaims);
addEventListener("pagehide", leaveClaims);
