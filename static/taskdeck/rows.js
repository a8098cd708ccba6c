/* The list of tasks: rows change where they stand, new ones wait behind a pill unless nobody would lose their place. */
"use strict";

const MOST_ROWS = 100;
const TOP = 8;
const rows = { wanted: new Map(), timer: 0, took: 0 };

function tableBody() {
  return document.querySelector("tbody[data-rows]");
}

function rowOf(id) {
  return document.getElementById("task-" + id);
}

function versionOf(row) {
  return Number(row.dataset.v);
}

function wantRows(changes) {
  for (const { id, v } of changes) {
    const row = rowOf(id);
    if (row && versionOf(row) < v) rows.wanted.set(id, v);
  }
  if (rows.wanted.size && !rows.timer) rows.timer = setTimeout(readRows, paced(COALESCE, ROWS_SHARE, rows.took));
}

/* All that are shown: versions that are known already change nothing. */
function wantAllRows() {
  for (const row of rowsIn(document)) rows.wanted.set(row.id.slice(5), versionOf(row));
  wantRows([]);
}

async function readRows() {
  rows.timer = 0;
  const ids = [...rows.wanted.keys()].slice(0, MOST_ROWS);
  for (const id of ids) rows.wanted.delete(id);
  const body = tableBody();
  const begun = Date.now();
  const text = body && body.dataset.rows && isFollowing() ? await read(body.dataset.rows + "ids=" + ids.join(",")) : null;
  rows.took = Date.now() - begun;
  if (text !== null) takeRows(ids, [...rowsIn(parse("<table>" + text + "</table>"))]);
  if (rows.wanted.size) wantRows([]);
}

/* What was asked for and is not there has expired or is gone. */
function takeRows(ids, fresh) {
  const found = new Set(fresh.map((row) => row.id.slice(5)));
  fresh.forEach(changeRow);
  for (const id of ids) if (!found.has(id) && rowOf(id)) markGone(rowOf(id));
  removeGone();
}

function markGone(row) {
  row.dataset.gone = "";
  const box = row.querySelector(".pick");
  if (box) Object.assign(box, { checked: false, disabled: true });
  showPicked();
}

/* Nothing moves under a pointer: a row that is gone stays, dimmed, until the pointer has left the list. */
function removeGone() {
  const body = tableBody();
  const gone = body && !body.matches(":hover") ? body.querySelectorAll("tr[data-gone]") : [];
  for (const row of gone) if (!row.contains(document.activeElement)) row.remove();
  if (gone.length && !rowsIn(body).length) readPageSoon();
}

function rowsIn(page) {
  return page.querySelectorAll('tr[id^="task-"]');
}

function changeRow(fresh) {
  const row = document.getElementById(fresh.id);
  if (!row || versionOf(row) >= versionOf(fresh)) return;
  const focused = row.contains(document.activeElement) && document.activeElement.className;
  markChanges(row, fresh);
  keepPick(row, fresh);
  row.replaceWith(document.adoptNode(fresh));
  if (focused) (fresh.querySelector("." + focused.split(" ")[0]) || fresh.querySelector("a")).focus();
}

function keepPick(row, fresh) {
  const box = row.querySelector(".pick");
  if (box && box.checked) fresh.querySelector(".pick").checked = true;
}

/* Only what means something fades: a time that went on is no change. */
function markChanges(row, fresh) {
  const before = row.querySelectorAll(".c-status, .c-task");
  const after = fresh.querySelectorAll(".c-status, .c-task");
  after.forEach((cell, index) => {
    if (before[index].textContent !== cell.textContent) cell.classList.add("changed");
  });
}

/* The page as it is now: values of rows that stand here, and how many do not. */
function comparePage(page) {
  const body = tableBody();
  const fresh = [...rowsIn(page)];
  if (!body || !rowsIn(body).length) return showResults(page, fresh.length > 0);
  fresh.filter((row) => rowOf(row.id.slice(5))).forEach((row) => changeRow(row.cloneNode(true)));
  const news = fresh.filter((row) => !rowOf(row.id.slice(5)));
  if ("older" in body.dataset) return;
  if (news.length && mayMove(body)) showRows(page);
  else showPill(news.length);
}

/* Whether rows may move: nobody scrolled, points at them, works in them, picked some, or has something open. */
function mayMove(body) {
  const isBusy = body.matches(":hover") || body.contains(document.activeElement) || body.querySelector(".pick:checked");
  return scrollY < TOP && !isBusy && !document.querySelector(":popover-open");
}

function showRows(page) {
  const body = page.querySelector("tbody[data-rows]");
  const paging = page.querySelector("[data-paging]");
  if (!body) return;
  for (const row of rowsIn(page)) if (rowOf(row.id.slice(5))) keepPick(rowOf(row.id.slice(5)), row);
  tableBody().replaceChildren(...document.adoptNode(body).children);
  document.querySelector("[data-paging]").replaceChildren(...document.adoptNode(paging).childNodes);
  showPill(0);
  showPicked();
}

/* A list that was empty fills, or one that ran empty says so; what somebody types into the search stays. */
function showResults(page, isFilled) {
  const [search, fresh] = [document, page].map((each) => each.querySelector("#results .search-row"));
  if (!search || (!tableBody() && !isFilled)) return;
  if (!fresh) return hasDraft() || replaceMain(page);
  while (search.nextSibling) search.nextSibling.remove();
  for (let next = fresh.nextSibling; next; next = fresh.nextSibling) search.parentElement.append(document.adoptNode(next));
  htmx.process(search.parentElement);
  showScripted();
  showPicked();
}

function showPill(count) {
  const pill = document.querySelector("[data-new]");
  if (!pill) return;
  pill.hidden = count === 0;
  show(pill.querySelector("span"), count + " new");
}

async function acceptNew() {
  const text = await read(pageAddress());
  if (text === null) return;
  showRows(parse(text));
  scrollTo({ top: 0 });
}

document.addEventListener("live:news", (event) => wantRows(event.detail.tasks));
document.addEventListener("live:again", wantAllRows);
document.addEventListener("tick", removeGone);
document.addEventListener("live:page", (event) => comparePage(event.detail));
document.addEventListener("click", (event) => event.target.closest("[data-new]") && acceptNew());
