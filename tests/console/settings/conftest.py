"""Commands run as a deployment runs them: in a process of their own, with no setting but those that are given."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OF_THE_SITE = {"DATABASE_URL", "BROKER_URL", "CHANNEL_URL", "HOST", "PORT", "DJANGO_SETTINGS_MODULE"}

Manage = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def manage() -> Manage:
    """Runs `manage.py` with the arguments, in an environment that has no setting but those given."""

    def run(*arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        rest = {name: value for name, value in os.environ.items() if not _is_setting(name)}
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=ROOT, env={**rest, **env}, capture_output=True, text=True, check=False)

    return run


def _is_setting(name: str) -> bool:
    return name in OF_THE_SITE or name.startswith("TASKDECK_")
