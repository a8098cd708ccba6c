"""What this process has answered and refused: counted in memory, from its start, for the metrics.

Every web process counts for itself: whoever reads them asks each process, or adds up what the processes of one address
say over time. Labels come from a closed set, because a client chooses the method and a tool the code.
"""

from __future__ import annotations

from collections import Counter

MOST_SERIES = 1000
OTHER = "other"

_requests: Counter[tuple[str, str, int]] = Counter()
_nameless: Counter[str] = Counter()
_denials: Counter[str] = Counter()


def count_request(method: str, *, code: str, status: int) -> None:
    """One request was answered so."""
    key = (method, code or "ok", status)
    if key not in _requests and len(_requests) >= MOST_SERIES:
        key = (OTHER, OTHER, status)
    _requests[key] += 1


def requests() -> dict[tuple[str, str, int], int]:
    """How many requests of each method, code and HTTP status this process has answered."""
    return dict(_requests)


def count_nameless(method: str) -> None:
    """A request came without the header `Mcp-Name` that it should have, and was served all the same."""
    _nameless[method] += 1


def nameless() -> dict[str, int]:
    """How many such requests of each method there were."""
    return dict(_nameless)


def count_denials(reason: str, times: int) -> None:
    """A task was denied so many times, for a reason that the client was not told."""
    _denials[reason] += times


def denials() -> dict[str, int]:
    """How often a task was denied for each reason."""
    return dict(_denials)


def reset() -> None:
    """For tests: as if the process had just started."""
    for counted in (_requests, _nameless, _denials):
        counted.clear()
