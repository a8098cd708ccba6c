"""A web process that dies with a create: where this module is among its tools, just before or after the commit.

`CHAOS_DIE` says which. Only a create with a key comes by here: those without one are stored together.
"""

from __future__ import annotations

import os

from tasks_app.mcp import lanes
from tasks_app.store.create import Created, NewTask, create_plan
from tasks_app.store.db import Atomic, Plan

EXIT_CODE = 9
_WHEN = os.environ.get("CHAOS_DIE", "")


def _die_with(new: NewTask) -> Plan[Created]:
    plan = create_plan(new)
    if _WHEN == "before":
        yield Atomic(_all_but_the_commit(plan))
    yield from plan
    os._exit(EXIT_CODE)


def _all_but_the_commit(plan: Plan[Created]) -> Plan[Created]:
    yield from plan
    os._exit(EXIT_CODE)


if _WHEN:
    lanes.create_plan = _die_with  # type: ignore[attr-defined]
