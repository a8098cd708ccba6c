"""What this process has answered on the protocol endpoint: counted in memory, from its start, for the metrics.

Every web process counts for itself: whoever reads them asks each process, or adds up what the processes of one address
say over time. Labels come from a closed set, because a client chooses the method and a tool the code.
"""

from __future__ import annotations

from collections import Counter

MOST_SERIES = 1000
OTHER = "other"

_requests: Counter[tuple[str, str, int]] = Counter()


def count_request(method: str, *, code: str, status: int) -> None:
    """One request was answered so."""
    key = (method, code or "ok", status)
    if key not in _requests and len(_requests) >= MOST_SERIES:
        key = (OTHER, OTHER, status)
    _requests[key] += 1


def requests() -> dict[tuple[str, str, int], int]:
    """How many requests of each method, code and HTTP status this process has answered."""
    return dict(_requests)


def reset() -> None:
    """For tests: as if the process had just started."""
    _requests.clear()
