"""A small client of the protocol, in the standard library alone: for the demo, for scripts, and as an example.

`Client` speaks 2026-07-28, in which every request stands alone; `Session` speaks 2025-11-25, which shakes hands and in
which a caller may say how long a task is kept. Neither needs Django.
"""

from __future__ import annotations

from tasks_app.client.modern import Client
from tasks_app.client.session import Session
from tasks_app.client.transport import Refused, Unreachable

__all__ = ["Client", "Refused", "Session", "Unreachable"]
