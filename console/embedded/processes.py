"""Starting, recognising and ending operating system processes; nothing here knows what they are for."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from console.embedded.account import Account

TETHER = Path(__file__).with_name("tether.py")
POLL_SECONDS = 0.02
GROUP_SECONDS = 2.0
PROC = Path("/proc")

Checkpoint = Callable[[], None]


def nothing() -> None:
    """The checkpoint of a caller that never wants to interrupt a wait."""


def spawn(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    output: int | IO[bytes],
    on_parent_death: signal.Signals,
    account: Account | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own; it gets the signal when we die, even by kill -9."""
    # The kernel ties a child to the thread that started it, so the tie makes sense in the main thread only.
    in_main_thread = threading.current_thread() is threading.main_thread()
    tie = on_parent_death.value if in_main_thread else 0
    ids = (account.uid, account.gid) if account else (-1, -1)
    tether = [sys.executable, "-I", "-S", TETHER, os.getpid(), tie, *ids]
    return subprocess.Popen(
        [str(part) for part in (*tether, *command)],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def command_line(pid: int) -> list[str]:
    """The arguments of a living process; empty when it is gone, a zombie, or not ours to see."""
    if (PROC / "self").exists():
        with contextlib.suppress(OSError):
            return os.fsdecode((PROC / str(pid) / "cmdline").read_bytes()).rstrip("\0").split("\0")
        return []
    shown = subprocess.run(
        ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.split()


def runs(pid: int, *, program: str, argument: str) -> bool:
    """Whether that process is the named program, started with that argument."""
    arguments = command_line(pid)
    return bool(arguments) and Path(arguments[0]).name == program and f" {argument} " in f" {' '.join(arguments)} "


def exists(pid: int) -> bool:
    """Whether the process table has an entry of that number, a zombie included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def read_pid(path: Path) -> int | None:
    """The process number on the first line of a pid file; None without a sensible one."""
    try:
        pid = int(path.read_text(errors="replace").split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    return pid if pid > 1 else None


def end(process: subprocess.Popen[bytes], *, steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """Send each signal in turn until the process is gone, giving it that many seconds each time."""
    for number, seconds in steps:
        if process.poll() is not None:
            return
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)


def end_stranger(
    pid: int,
    *,
    is_ours: Callable[[], bool],
    steps: Sequence[tuple[signal.Signals, float]],
    checkpoint: Checkpoint = nothing,
) -> bool:
    """Like `end`, for a process that is not our child; False when it is still there after the last signal."""
    for number, seconds in steps:
        deadline = time.monotonic() + seconds
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        while is_ours():
            checkpoint()
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        else:
            return True
    return False


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the group that the process leads, and return when all of it is gone."""
    deadline = time.monotonic() + GROUP_SECONDS
    # macOS answers EPERM for a group of zombies.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # Grandchildren are not ours to wait for, and where nobody reaps them they stay as zombies: hence the deadline.
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(POLL_SECONDS / 10)
    process.wait()


def describe_exit(code: int) -> str:
    """An exit code as Popen gives it, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"was killed by signal {-code} ({name})"
