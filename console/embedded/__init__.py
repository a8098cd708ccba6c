"""The supervisor behind `manage.py up`: embedded Postgres and Valkey, and the child processes that use them.

Standard library only, and importable before Django is configured: no settings, no models, no ORM in here.
"""

from __future__ import annotations

from console.embedded.errors import EmbeddedError
from console.embedded.postgres import EmbeddedPostgres
from console.embedded.valkey import EmbeddedValkey

__all__ = ["EmbeddedError", "EmbeddedPostgres", "EmbeddedValkey"]
