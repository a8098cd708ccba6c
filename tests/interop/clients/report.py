"""What every client program does: run its scenarios one by one, and print what each came to as one JSON object.

Runs in the environment of a client, where nothing of ours is installed: the standard library only.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

URL = os.environ.get("INTEROP_URL", "")
TOKEN = os.environ.get("INTEROP_TOKEN", "")
SCENARIO_SECONDS = 30.0

Scenario = Callable[[], Awaitable[Any]]


def run(scenarios: Sequence[Scenario]) -> None:
    """Run them in their order; one that fails or hangs says so in its place and does not stop the others."""
    found = asyncio.run(_all(scenarios))
    sys.stdout.write(json.dumps(found, default=str))


async def _all(scenarios: Sequence[Scenario]) -> dict[str, Any]:
    return {scenario.__name__: await _one(scenario) for scenario in scenarios}


async def _one(scenario: Scenario) -> Any:
    try:
        async with asyncio.timeout(SCENARIO_SECONDS):
            return await scenario()
    except Exception as error:  # whatever a client raises is what the test wants to see
        return {"raised": _told(error)}


def _told(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return ", ".join(_told(each) for each in error.exceptions)
    return f"{type(error).__name__}: {error}"
