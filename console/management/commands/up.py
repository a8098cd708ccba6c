"""`manage.py up`: the whole product in one foreground command. The work is in `console.embedded`; no ORM here."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from console.embedded.errors import EmbeddedError
from console.embedded.launch import Program, launch
from console.embedded.output import Output
from tasks_app.conf import conf

PROJECT = Path(__file__).resolve().parents[3]
FIRST_RUN = "first_run"
DEMO = "demo_client"


class Command(BaseCommand):
    """Starts Postgres, Valkey, web, worker and engine; stops them all on Ctrl-C."""

    help = "Run Taskdeck on this machine: database, broker, web, worker and engine, until Ctrl-C."
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Run until a stop signal; one line on stderr and exit code 1 when something is in the way."""
        program = Program(PROJECT, first_run=FIRST_RUN, demo=DEMO if conf().demo else None)
        try:
            launch(program, environ=os.environ, output=Output(sys.stdout.buffer))
        except EmbeddedError as error:
            self.stderr.write(str(error))
            raise SystemExit(1) from None
