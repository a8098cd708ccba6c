"""Private directories for unix sockets: 0700 is the access control, and the path has to fit into `sun_path`."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from console.embedded.account import Account, owner_name
from console.embedded.errors import EmbeddedError

LONGEST_SOCKET_BYTES = 100
# Shared places: what is made there is private, and refused when somebody else made it.
SHORT_TEMPORARIES = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108


def socket_directory(home: Path, *, file_name: str, account: Account | None = None) -> Path:
    """`home/run`, or a short directory in tmp, always the same for one home, when that path is too long."""
    wanted = home / "run"
    if _fits(wanted / file_name):
        return wanted
    name = "taskdeck-" + hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    for temporary in (Path(tempfile.gettempdir()), *SHORT_TEMPORARIES):
        if _fits(temporary / name / file_name) and (account is None or account.reaches(temporary)):
            return temporary / name
    raise EmbeddedError(f"{home} is too long for a socket and so is the temporary directory. Set TMPDIR to /tmp.")


def make_private(path: Path, *, account: Account | None = None) -> None:
    """Create the directory with mode 0700 for the account (or us); refuses one that belongs to somebody else."""
    uid = account.uid if account else os.geteuid()
    try:
        path.mkdir(mode=0o700, parents=False)
    except FileExistsError:
        _refuse_foreign(path, uid=uid)
    else:
        if account:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    path.chmod(0o700)


def _refuse_foreign(path: Path, *, uid: int) -> None:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EmbeddedError(f"{path} is in the way: it is not a directory. Move it away and run again.")
    if found.st_uid != uid:
        raise EmbeddedError(
            f"{path} belongs to user {owner_name(found.st_uid)}, not to {owner_name(uid)}. "
            "Run as the user who started it first, or choose another directory with TASKDECK_DATA."
        )


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_SOCKET_BYTES
