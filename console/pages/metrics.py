"""`/metrics`: numbers for whoever watches the site, in the text format of Prometheus, behind a token.

Without `TASKDECK_METRICS_TOKEN` there is no such page. What is counted in the database is the same from every process;
requests are counted by the process that answers.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.prometheus import CONTENT_TYPE, metric, single
from tasks_app import counters
from tasks_app.conf import conf
from tasks_app.store import gauges
from tasks_app.store.gauges import NEWEST_EVENTS, RECENT_SECONDS, Gauges

UNAUTHORIZED = 401
RECENT = f"in the last {RECENT_SECONDS // 60} minutes, among the newest {NEWEST_EVENTS} events of the log"


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Every number, for whoever has the token."""
    token = conf().metrics_token
    if not token:
        raise Http404
    given = request.headers.get("Authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        return HttpResponse(status=UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
    now = gauges.read()
    return HttpResponse(
        "".join([_tasks(now), _people(now), _chain(now), _requests(), _denials()]), content_type=CONTENT_TYPE
    )


def _gauge(name: str, text: str, value: float | None) -> str:
    return single(f"taskdeck_{name}", "gauge", text, value or 0)


def _gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> str:
    return metric(f"taskdeck_{name}", "gauge", text, [({label: key}, value) for key, value in values.items()])


def _tasks(now: Gauges) -> str:
    parts = [
        _gauges("tasks", "Tasks by where they stand.", "status", now.tasks),
        _gauge("tasks_due", "Tasks that could start now, counted up to 10000.", now.due),
        _gauge("oldest_due_seconds", "For how long the oldest of them has been due.", now.oldest_due),
        _gauges("start_latency_seconds", f"From creation to first attempt, {RECENT}.", "quantile", now.start_latency),
        _gauges("attempts_recent", f"Attempts that ended {RECENT}.", "outcome", now.attempts),
        _gauge("expiry_lag_seconds", "For how long the oldest task to expire is past its time.", now.expiry_lag),
        _gauge("workers", "Workers that were seen lately.", now.workers),
        _gauge("worker_slots", "Attempts that they can run at once.", now.slots),
        _gauge("worker_busy", "Attempts that they run.", now.busy),
    ]
    return "".join(parts)


def _people(now: Gauges) -> str:
    text = "Questions that wait for an answer, counted up to 10000."
    oldest = _gauge("oldest_question_seconds", "For how long the oldest waits.", now.oldest_question)
    return _gauge("questions_open", text, now.questions) + oldest


def _chain(now: Gauges) -> str:
    state = now.chain
    parts = [
        _gauge("chain_broken", "1 when the audit log is not what was sealed.", int(state.broken is not None)),
        _gauge("chain_sealed_batch", "The last batch that was sealed.", state.sealed),
        _gauge("chain_verified_batch", "The last batch up to which all was in order.", state.verified),
        _gauge("chain_unsealed_seconds", "The age of the oldest event that is not sealed.", now.unsealed),
    ]
    return "".join(parts)


def _requests() -> str:
    return metric(
        "taskdeck_mcp_requests_total",
        "counter",
        "Requests that this process answered on the protocol endpoint.",
        [
            ({"method": method, "code": code, "status": str(status)}, count)
            for (method, code, status), count in sorted(counters.requests().items())
        ],
    )


def _denials() -> str:
    denied = "Tasks that this process did not show to who asked, by what the answer does not tell; once a minute."
    nameless = "Requests without the header Mcp-Name that this process served all the same."
    return _counters("mcp_denials", denied, "reason", counters.denials()) + _counters(
        "mcp_nameless", nameless, "method", counters.nameless()
    )


def _counters(name: str, text: str, label: str, values: Mapping[str, int]) -> str:
    samples = [({label: key}, value) for key, value in sorted(values.items())]
    return metric(f"taskdeck_{name}_total", "counter", text, samples)
