"""The tools: which there are, how they do, what they take, and a form that runs one as oneself."""

from __future__ import annotations

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from console import summary
from console.access import Action, Principal, require
from console.jsontree import tree
from console.pages.scope import owner_scope
from console.tool_form import ToolForm, arguments_of, form_for
from tasks_app import store
from tasks_app.domain.errors import BytesExceeded, QuotaExceeded, TaskdeckError
from tasks_app.engine import hints
from tasks_app.engine.calling import own_task
from tasks_app.engine.registry import Support, Tool, registry
from tasks_app.engine.schema import InvalidArguments
from tasks_app.store import queries, tally, trends

CLIENT = "console"
RANGE = summary.RANGES[1]
UNPROCESSABLE = 422
SUPPORT = {
    Support.OPTIONAL: "A task where the client knows tasks; otherwise it waits.",
    Support.REQUIRED: "Always a task.",
    Support.FORBIDDEN: "Never a task: it runs inside the call, for clients only.",
}


@require_safe
@require(Action.VIEW)
def tools(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Every tool that clients are offered, and every other that still has tasks."""
    lines = {line.name: line for line in _lines(owner_scope(request, principal))}
    offered = registry.all()
    known = {tool.name for tool in offered}
    context = {
        "rows": [(tool, _summary(tool), lines.get(tool.name)) for tool in offered],
        "sees_all": principal.may(Action.VIEW, everyone=True),
        "everyone": owner_scope(request, principal) is None,
        "others": [line for name, line in lines.items() if name not in known],
        "chosen": RANGE,
    }
    return render(request, "tools.html", context)


@require_safe
@require(Action.VIEW)
def tool(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    """One tool."""
    found = registry.get(name)
    if found is None:
        return _unknown(request, principal, name)
    return _page(request, principal, found, form_for(found))


@require_POST
@require(Action.RUN)
def run(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    """Make a task of one's own, and lead to it."""
    found = registry.get(name)
    if found is None or found.task is Support.FORBIDDEN:
        raise Http404
    try:
        arguments = arguments_of(found, request.POST, zone=timezone.get_current_timezone())
        made = store.create(own_task(found, arguments, owner_id=principal.owner_id, client=CLIENT))
    except InvalidArguments as wrong:
        form = form_for(found, request.POST, wrong.fields)
        return _page(request, principal, found, form, status=UNPROCESSABLE)
    except (QuotaExceeded, BytesExceeded) as refused:
        return _refused(request, principal, found, refused)
    hints.send()
    return redirect("task", made.task.id)


def _refused(request: HttpRequest, principal: Principal, found: Tool, refused: TaskdeckError) -> HttpResponse:
    form = form_for(found, request.POST, {"": [str(refused)]})
    return _page(request, principal, found, form, status=UNPROCESSABLE)


def _page(
    request: HttpRequest, principal: Principal, found: Tool, form: ToolForm, *, status: int = 200
) -> HttpResponse:
    lines = [line for line in _lines(owner_scope(request, principal)) if line.name == found.name]
    context: dict[str, Any] = {
        "tool": found,
        "summary": _summary(found),
        "details": found.description.partition("\n")[2].strip(),
        "form": form,
        "may_run": found.task is not Support.FORBIDDEN,
        "support": SUPPORT[found.task],
        "line": lines[0] if lines else None,
        "chosen": RANGE,
        "input_schema": tree(json.dumps(found.input_schema)),
        "output_schema": None if found.output_schema is None else tree(json.dumps(found.output_schema)),
    }
    return render(request, "tool.html", context, status=status)


def _summary(found: Tool) -> str:
    return found.description.partition("\n")[0]


def _unknown(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    """A tool that is no longer offered leads to its tasks; of one that never was there is no page."""
    if name not in tally.counts_by_tool(owner_scope(request, principal)):
        raise Http404
    return redirect(summary.tasks_link(f"tool:{name}", everyone=owner_scope(request, principal) is None))


def _lines(owner_id: int | None) -> list[summary.ToolLine]:
    since = RANGE.since(queries.now())
    moved = trends.movements(owner_id, since=since, step=RANGE.step)
    return summary.by_tool(moved, tally.counts_by_tool(owner_id), slots=RANGE.slots)
