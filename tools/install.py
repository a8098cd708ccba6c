"""Makes the virtual environment and installs one pinned requirements file: `install.py VENV REQUIREMENTS`.

Runs before anything is installed, with whatever Python the machine has, so it uses the standard library alone. uv does
the work in seconds; where it cannot be had, or fails, pip does the same with the same hashes.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

OLDEST_PYTHON = (3, 11)
INSTALLER = Path(__file__).resolve().parent.parent / "requirements" / "install.txt"
INTERRUPTED = 130


class Refused(Exception):
    """The machine lacks something; the message is a sentence that says what to do."""


def main(arguments: list[str]) -> int:
    """Install, and return the exit code; whatever is in the way is said in one line."""
    venv, requirements = (Path(argument) for argument in arguments)
    started = time.monotonic()
    try:
        require_python(sys.version_info[:2])
        make_venv(venv)
        install(venv, requirements=requirements)
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted. The next run goes on from here.", file=sys.stderr)
        return INTERRUPTED
    say(f"Installed {requirements} into {venv} in {time.monotonic() - started:.0f} s.")
    return 0


def say(line: str) -> None:
    """Show how far we are, at once."""
    print(line, flush=True)


def require_python(version: tuple[int, ...]) -> None:
    """Raises Refused for a Python that is too old to run Taskdeck."""
    if version < OLDEST_PYTHON:
        found, needed = (".".join(map(str, number)) for number in (version, OLDEST_PYTHON))
        raise Refused(f"Taskdeck needs Python {needed} or newer and python3 is {found}. Name another: make PYTHON=…")


def make_venv(venv: Path) -> None:
    """Create the environment, or keep the one that is there when its Python and pip still run."""
    if _succeeds([str(python_of(venv)), "-m", "pip", "--version"]):
        return
    if importlib.util.find_spec("ensurepip") is None:
        raise Refused("This Python cannot make virtual environments. On Debian or Ubuntu: apt install python3-venv")
    say(f"Creating {venv}…")
    if not _runs([sys.executable, "-m", "venv", "--clear", str(venv)]):
        raise Refused(f"{venv} could not be created; the lines above say why.")


def install(venv: Path, *, requirements: Path) -> None:
    """Bring the environment to the pins of the file, each download checked against its hash; raises Refused."""
    python = str(python_of(venv))
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    say(f"Installing the packages of {requirements}…")
    # Compiled here once: every process that starts reads it, also where Python is told not to write bytecode itself.
    uv = [python, "-m", "uv", "pip", "install", "--compile-bytecode", "--python", python]
    uv += ["--require-hashes", "-r", str(requirements)]
    if _succeeds([*pip, "install", "--require-hashes", "-r", str(INSTALLER)]) and _runs(uv, env=_same_index(pip)):
        return
    say("uv could not do it; trying again with pip, which takes longer…")
    if not _runs([*pip, "install", "--require-hashes", "-r", str(requirements)]):
        raise Refused("The packages could not be installed; the lines above say why. Is the network up?")


def python_of(venv: Path) -> Path:
    """The environment's own Python, not resolved: the link is what makes it the environment's."""
    return venv.absolute() / "bin" / "python"


def _same_index(pip: list[str]) -> dict[str, str]:
    """Our environment, with the package index that pip is configured for: uv does not read pip's files."""
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"\.index-url='(.+)'", listed)
    return {**({"UV_DEFAULT_INDEX": found[-1]} if found else {}), **os.environ}


def _runs(command: list[str], *, env: dict[str, str] | None = None) -> bool:
    return subprocess.run(command, env=env, check=False).returncode == 0


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
