"""The same as somebody who is not root: the supervisor, both servers and the children under an ordinary account."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from console.embedded.account import unprivileged_account

STAND_IN = Path(__file__).with_name("stand_in.py")


def reachable_python() -> str:
    """An interpreter that the ordinary user may execute; root's own may be in a home that is closed to others."""
    account = unprivileged_account()
    candidates = [Path(sys.executable).resolve(), Path("/usr/bin/python3"), Path("/usr/local/bin/python3")]
    return next(str(path) for path in candidates if account is None or account.reaches(path))


def test_launch_runs_as_an_ordinary_user(run: Any, free_port: int, place: Path) -> None:
    account = unprivileged_account()
    user = account.uid if account else os.getuid()
    data = place / "home" / "data"
    data.parent.mkdir(mode=0o700)
    os.chown(data.parent, user, -1)
    packages = os.pathsep.join(
        [str(Path(__file__).resolve().parents[3]), *(path for path in sys.path if "site-packages" in path)]
    )

    started = run(
        [reachable_python(), str(STAND_IN)],
        data=data,
        user=account.uid if account else None,
        PORT=str(free_port),
        PYTHONPATH=packages,
        HOME=str(data.parent),
    )
    started.wait_for("Taskdeck is ready: http://127.0.0.1:")
    owners = {path.stat().st_uid for path in (data, data / "pg" / "data", data / "valkey", data / "secret_key")}
    started.send(signal.SIGINT)

    assert started.code() == 0
    assert started.is_clean()
    assert owners == {user}
