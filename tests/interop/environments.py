"""Environments of their own for programs that cannot live in ours: other clients, and other servers to compare with.

Each is made the first time that it is wanted, beside our packages, from a file of pins in `requirements/`. A stamp with
the digest of that file makes the next run start at once, and a change of the pins install again.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
HOME = PROJECT / ".venv" / "interop"
INSTALL_SECONDS = 600


def environment(name: str) -> Path:
    """The Python of the environment that `requirements/interop-<name>.txt` describes, made now when it is not there."""
    pins = PROJECT / "requirements" / f"interop-{name}.txt"
    venv = HOME / name
    python, stamp = venv / "bin" / "python", HOME / f"{name}.stamp"
    wanted = hashlib.sha256(pins.read_bytes()).hexdigest()
    HOME.mkdir(parents=True, exist_ok=True)
    # Two runs at once must not install into the same place.
    with (HOME / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (python.exists() and stamp.exists() and stamp.read_text() == wanted):
            _install(venv, pins)
            stamp.write_text(wanted)
    return python


def _install(venv: Path, pins: Path) -> None:
    command = [sys.executable, str(PROJECT / "tools" / "install.py"), str(venv), str(pins)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    assert done.returncode == 0, f"{pins.name} could not be installed:\n{done.stdout}{done.stderr}"
