"""The unprivileged account that runs Postgres when we are root, because Postgres refuses to run as root.

No account is ever created and no permission of a parent directory is ever changed.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

UNPRIVILEGED_NAME = "nobody"


@dataclass(frozen=True)
class Account:
    """A user and group to run a process as."""

    uid: int
    gid: int

    def reaches(self, path: Path) -> bool:
        """Whether this account may enter (or execute) the path, asked of the kernel as that account."""
        check = ["/bin/sh", "-c", 'test -x "$0"', os.fspath(path)]
        answer = subprocess.run(check, cwd="/", user=self.uid, group=self.gid, extra_groups=[], check=False)
        return answer.returncode == 0


def unprivileged_account() -> Account | None:
    """The account to run Postgres as; None when we are not root and simply run it ourselves."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(UNPRIVILEGED_NAME)
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def owner_name(uid: int) -> str:
    """The name of a user, or its number when it has no name here."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"number {uid}"
