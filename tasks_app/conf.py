"""The engine's settings with their defaults: read from Django's settings under the prefix `TASKDECK_`.

Reading them costs no I/O. The limits of a task are the domain's `Limits`; the rest are the knobs of processes.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from django.conf import settings
from django.core.signals import setting_changed
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, model_validator

from tasks_app.domain.limits import Limits

PREFIX = "TASKDECK_"
DEFAULTS = Limits()


def split_names(value: object) -> object:
    """`a, b` as a tuple; anything that is not text is left to the validation."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


VERIFIERS = ("token", "jwks")
"""Those that are built in."""
MOST_SECONDS = 100 * 365 * 86_400
"""A hundred years: longer than anything is kept, and a time that every calculation has room for."""
Seconds = Annotated[float, Field(gt=0, le=MOST_SECONDS, allow_inf_nan=False)]
Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]


class Conf(BaseModel):
    """Every setting of the engine, typed. A field `lease` is the Django setting `TASKDECK_LEASE`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # How long things live, in seconds.
    default_ttl: Seconds = DEFAULTS.default_ttl_ms / 1000
    max_ttl: Seconds = DEFAULTS.max_ttl_ms / 1000
    ttl_overflow: Literal["clamp", "reject"] = "clamp"
    question_ttl: Seconds = DEFAULTS.question_ttl_seconds
    max_keep: Seconds = DEFAULTS.max_keep_seconds
    minimum_retention: Seconds = DEFAULTS.minimum_retention_seconds
    purge_after: Seconds = DEFAULTS.purge_after_seconds
    record_retention: Seconds = DEFAULTS.record_retention_seconds
    default_poll: Seconds = DEFAULTS.default_poll_interval_ms / 1000

    # How much an owner may hold.
    live_tasks: PositiveInt = DEFAULTS.live_tasks
    owner_bytes: PositiveInt = DEFAULTS.owner_bytes
    arguments_bytes: PositiveInt = DEFAULTS.arguments_bytes
    result_bytes: PositiveInt = DEFAULTS.result_bytes
    answer_bytes: PositiveInt = DEFAULTS.answer_bytes
    variables_bytes: PositiveInt = DEFAULTS.variables_bytes
    variables_depth: PositiveInt = DEFAULTS.variables_depth
    variable_string_bytes: PositiveInt = DEFAULTS.variable_string_bytes
    list_page: PositiveInt = DEFAULTS.list_page
    request_body_bytes: PositiveInt = DEFAULTS.request_body_bytes

    # How fast clients may ask, for each process.
    requests_per_second: PositiveInt = DEFAULTS.requests_per_second
    requests_burst: PositiveInt = DEFAULTS.requests_burst
    address_requests_per_second: PositiveInt = DEFAULTS.address_requests_per_second
    polls_per_interval: PositiveInt = DEFAULTS.polls_per_interval
    polls_burst: PositiveInt = DEFAULTS.polls_burst

    # How workers and the engine loop behave, in seconds.
    lease: Seconds = 30
    heartbeat: Seconds = 10
    grace: Seconds = 30
    release_after: Seconds = 10
    wake_url: str = ""
    max_losses: PositiveInt = 3
    owner_concurrency: PositiveInt | None = None
    tick: Seconds = 0.2
    reap_every: Seconds = 5
    sweep_every: Seconds = 5
    fold_every: Seconds = 1
    seal_every: Seconds = 30
    verify_every: Seconds = 60
    refusals_every: Seconds = 60
    retire_every: Seconds = 600
    worker_beat: Seconds = 2
    worker_gone: Seconds = 15
    due_alarm: Seconds = 15

    # How a client without tasks is served: how long it waits, what it gets instead of waiting, what it may not call.
    sync_budget: Seconds = DEFAULTS.sync_budget_seconds
    round_trip: Seconds = DEFAULTS.round_trip_seconds
    non_task_clients: Literal["sync", "text_handle"] = "sync"
    required_fallback: Literal["error", "sync"] = "error"
    # The dotted path of `(tool name, arguments) -> bool`: which calls of an optional tool become tasks; empty for all.
    augment: str = ""

    # Who may do what.
    self_approval: bool = False
    operators_answer: bool = True
    allow_anonymous: bool = False
    # Who says what a bearer token is worth, asked in this order: `token`, `jwks`, or the dotted path of a verifier.
    verifiers: Names = ("token",)
    # The authorization server that external tokens come from, and the address of the endpoint that they are minted for.
    issuer: str = ""
    audience: str = ""
    # Where the issuer's keys are: a file, or an address.
    jwks: str = ""
    # Whether a client must repeat the task id in the header `Mcp-Name`, too.
    strict_task_names: bool = False

    # What a reader of `/metrics` must present as a bearer token; without one there is no such page.
    metrics_token: str = ""

    # Which tools there are.
    tool_modules: Names = ()
    fallback_tool: str = "get_task_result"
    demo: bool = False

    @model_validator(mode="after")
    def _fits_together(self) -> Conf:
        if self.default_ttl > self.max_ttl:
            raise ValueError("TASKDECK_DEFAULT_TTL must not exceed TASKDECK_MAX_TTL")
        if self.lease < 2 * self.heartbeat:
            raise ValueError("TASKDECK_LEASE must be at least twice TASKDECK_HEARTBEAT")
        if "jwks" in self.verifiers and not (self.issuer and self.audience and self.jwks):
            raise ValueError(
                "TASKDECK_VERIFIERS names jwks, which needs TASKDECK_ISSUER, TASKDECK_AUDIENCE, TASKDECK_JWKS"
            )
        return self

    @cached_property
    def limits(self) -> Limits:
        """What the pure rules need of these settings; made once, because every create asks for it."""
        return _limits(self)


# Settings whose name carries no unit, with the limit that they set and its factor.
RENAMED = {
    "default_ttl": ("default_ttl_ms", 1000),
    "max_ttl": ("max_ttl_ms", 1000),
    "default_poll": ("default_poll_interval_ms", 1000),
    "question_ttl": ("question_ttl_seconds", 1),
    "max_keep": ("max_keep_seconds", 1),
    "minimum_retention": ("minimum_retention_seconds", 1),
    "purge_after": ("purge_after_seconds", 1),
    "record_retention": ("record_retention_seconds", 1),
    "sync_budget": ("sync_budget_seconds", 1),
    "round_trip": ("round_trip_seconds", 1),
}


def _limits(conf: Conf) -> Limits:
    same = {field.name: getattr(conf, field.name) for field in fields(Limits) if field.name in Conf.model_fields}
    renamed = {limit: getattr(conf, name) * factor for name, (limit, factor) in RENAMED.items()}
    whole = {name: int(value) if name.endswith("_ms") else value for name, value in renamed.items()}
    return Limits(**same, **whole)


@cache
def conf() -> Conf:
    """The settings now in force."""
    given = {
        name: getattr(settings, key) for name in Conf.model_fields if hasattr(settings, key := PREFIX + name.upper())
    }
    return Conf(**given)


def _forget(*, setting: str, **_: Any) -> None:
    if setting.startswith(PREFIX):
        conf.cache_clear()


setting_changed.connect(_forget)
