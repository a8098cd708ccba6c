"""Half a minute of chaos in every test run; `make chaos` has the longer forms."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes import PROJECT

SECONDS = 110


@pytest.mark.timeout(120)
def test_every_promise_is_kept_through_half_a_minute_of_chaos() -> None:
    command = [sys.executable, "-m", "tests.chaos", "--seconds", "30", "--tasks", "300"]

    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=SECONDS, check=False)

    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert "broken promises: none" in done.stdout
