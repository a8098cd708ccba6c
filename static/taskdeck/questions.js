/* Forms that answer a question. They are never swapped: when it ends elsewhere a form locks and keeps its draft. */
"use strict";

const LAST_SECONDS = 60;
const CHECK_AGAIN = 2000;
const asking = { timer: 0 };

function checkFormsSoon() {
  if (!asking.timer) asking.timer = setTimeout(checkForms, COALESCE);
}

async function checkForms() {
  asking.timer = 0;
  for (const form of document.querySelectorAll("form[data-question]")) await checkForm(form);
}

async function checkForm(form) {
  const response = await fetch(form.dataset.question, { headers: { "X-Live": "1" } }).catch(() => null);
  if (!response || response.redirected || response.status === 204) return;
  if (response.ok) lockForm(form, parse(await response.text()).querySelector(".banner"));
  else if (response.status === 404) lockForm(form, goneBanner());
}

function goneBanner() {
  const banner = document.createElement("div");
  banner.className = "banner";
  banner.setAttribute("role", "alert");
  const copy = Object.assign(document.createElement("button"), { type: "button", className: "btn", hidden: true });
  copy.textContent = "Copy draft";
  copy.dataset.copyDraft = "";
  banner.append(Object.assign(document.createElement("p"), { textContent: "This question is no longer there." }), copy);
  return banner;
}

function lockForm(form, banner) {
  form.removeAttribute("data-question");
  form.dataset.locked = "";
  for (const control of form.elements) control.disabled = true;
  for (const actions of form.querySelectorAll(".actions")) actions.hidden = true;
  const claim = claimRegion(form);
  if (claim) claim.remove();
  placeBanner(form, banner);
  offerCopy(form, banner);
}

/* Where the server puts it too; what has ended no longer expires. */
function placeBanner(form, banner) {
  const head = form.querySelector(".head");
  if (!head) return form.before(banner);
  head.after(banner);
  const due = head.querySelector("time.exp");
  if (due) due.parentElement.hidden = true;
}

function offerCopy(form, banner) {
  const button = banner.querySelector("[data-copy-draft]");
  if (!button || !navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", () => copyText(draftOf(form), "Draft"));
}

function draftOf(form) {
  const typed = [...form.elements].filter((each) => /^(f-|reason$)/.test(each.name) && isSaid(each));
  return typed.map((each) => each.name.replace(/^f-/, "") + ": " + each.value).join("\n");
}

function isSaid(control) {
  return ["radio", "checkbox"].includes(control.type) ? control.checked : control.value !== "";
}

/* What the task asks since the page was loaded is added; what stands there already is left alone. */
function addQuestions(page) {
  const here = document.querySelector("[data-questions]");
  if (!here) return;
  for (const asked of page.querySelectorAll("[data-questions] > section")) {
    if (!document.getElementById(asked.id)) here.append(document.adoptNode(asked));
  }
}

/* Who came here to answer begins where something is missing, or at the button when the form is filled in already. */
function focusAnswer() {
  const form = location.hash === "#questions" && document.querySelector("form[data-question]");
  const missing = form && form.querySelector(":is(input, select, textarea):invalid");
  const start = form && (missing || form.querySelector('button[value="accept"]'));
  if (start) start.focus();
}

/* The last minute is said once; at its end the server is asked, which alone decides. */
function watchDeadline(form) {
  const due = form.querySelector("[data-due]") || form.parentElement.querySelector("header time.exp");
  const left = due ? secondsUntil(due.dateTime) : Infinity;
  if (left > LAST_SECONDS) return;
  if (!("warned" in form.dataset)) say("Less than a minute left to answer");
  form.dataset.warned = "";
  if (left > 0 || Date.now() - Number(form.dataset.checked || 0) < CHECK_AGAIN) return;
  form.dataset.checked = Date.now();
  checkFormsSoon();
}

/* Many options: typing leaves those that match, and Enter takes the first of them. */
function findOptions(event) {
  const finder = event.target.closest("[data-finds]");
  if (!finder) return;
  const select = document.getElementById(finder.dataset.finds);
  finder.every = finder.every || [...select.options];
  const wanted = finder.value.trim().toLowerCase();
  const fits = (option) => !option.value || option.selected || option.text.toLowerCase().includes(wanted);
  select.replaceChildren(...finder.every.filter(fits));
}

function takeOption(event) {
  const finder = event.target.closest("[data-finds]");
  if (!finder || event.key !== "Enter") return;
  event.preventDefault();
  const select = document.getElementById(finder.dataset.finds);
  const wanted = finder.value.trim().toLowerCase();
  const first = [...select.options].find((each) => each.value && each.text.toLowerCase().includes(wanted));
  if (!wanted || !first) return;
  first.selected = true;
  select.focus();
}

/* Who sent something that does not fit stands in front of the first thing to change. */
function goToFault() {
  const summary = document.querySelector("form .errors");
  if (!summary) return;
  const link = summary.querySelector("a");
  const field = link && document.getElementById(link.hash.slice(1));
  const control = field && (field.matches("fieldset") ? field.querySelector("input") : field);
  (control || summary).focus();
}

/* A page that the server sent locked has its draft too. */
for (const banner of document.querySelectorAll(".ask > .banner, .prompt > .banner")) {
  offerCopy(banner.closest("form") || banner.parentElement.querySelector("form"), banner);
}
goToFault();

/* Until a page has loaded, the browser itself may move the focus to the fragment of its address. */
addEventListener("load", () => setTimeout(focusAnswer));
document.addEventListener("live:page", (event) => addQuestions(event.detail));
document.addEventListener("live:news", (event) => {
  if (event.detail.inbox || event.detail.tasks.length) checkFormsSoon();
});
document.addEventListener("live:again", checkFormsSoon);
document.addEventListener("tick", () => document.querySelectorAll("form[data-question]").forEach(watchDeadline));
document.addEventListener("input", findOptions);
document.addEventListener("keydown", takeOption);
