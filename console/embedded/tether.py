"""Run as a script: tie this process to its parent, drop root if told to, and become the given command.

The kernel then sends the chosen signal when the parent dies, however it dies. It runs by file name in an isolated
interpreter, so it imports nothing of ours. Systems without `prctl` simply go without the tie.

    python -I -S tether.py <parent pid> <signal number> <uid or -1> <gid or -1> <command> [argument …]
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str]) -> None:
    """Become the command; returns never."""
    parent, death_signal, uid, gid = map(int, arguments[:4])
    command = list(arguments[4:])
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if death_signal:
        _tie(death_signal, parent=parent)
    # Python ignores these two, and an ignored signal stays ignored across exec.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606 - becoming the command is the point
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def _tie(death_signal: int, *, parent: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    # After the change of user: that change clears the setting.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("The supervisor is gone.")


if __name__ == "__main__":
    main(sys.argv[1:])
