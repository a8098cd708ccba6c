/* The list that somebody came from: the page of a task leads to its neighbours there. Kept by this tab alone. */
"use strict";

function rememberTrail() {
  const ids = [...document.querySelectorAll('.tasks tr[id^="task-"]')].map((row) => row.id.slice(5));
  if (ids.length) sessionStorage.setItem("trail", JSON.stringify({ ids, list: location.pathname + location.search }));
}

function trailOf(id) {
  const { ids, list } = JSON.parse(sessionStorage.getItem("trail") || '{"ids": []}');
  const at = ids.indexOf(id);
  return at < 0 ? null : { before: ids[at - 1], after: ids[at + 1], list };
}

function lead(link, id) {
  link.hidden = !id;
  if (id) link.href = `/tasks/${id}/`;
}

function showTrail() {
  const here = document.querySelector("[data-trail]");
  const trail = here && trailOf(here.dataset.trail);
  if (!trail) return;
  here.hidden = false;
  lead(here.querySelector('[data-key="k"]'), trail.before);
  lead(here.querySelector('[data-key="j"]'), trail.after);
  document.querySelector(".crumb a").href = trail.list;
}

addEventListener("pagehide", rememberTrail);
showTrail();
