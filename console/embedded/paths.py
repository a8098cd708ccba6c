"""Where the data lives, who may use it, and which Taskdeck wrote it. What is inside is not known here."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from console.embedded.account import Account
from console.embedded.errors import EmbeddedError

DATA_FORMAT = 1
DEFAULT_NAME = ".taskdeck"
ROOT_HOME = Path("/var/lib/taskdeck")
SHORTEST_SECRET = 32


class DataLock:
    """An exclusive lock that ends with the process that holds it; the file names that process."""

    def __init__(self, path: Path, *, what: str) -> None:
        self.path = path
        self._what = what
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock, at once; raises EmbeddedError when another process holds it."""
        if self._file is not None:
            return
        file = self.path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(file).strip() or "unknown"
            file.close()
            raise EmbeddedError(
                f"{self._what} is already in use by process {holder}. "
                "Stop that one first, or choose another directory with TASKDECK_DATA."
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock back; harmless when it is not held."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> DataLock:
        self.acquire()
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


@dataclass(frozen=True)
class DataDirectory:
    """The directory that holds everything of one embedded Taskdeck."""

    path: Path
    instead_of: Path | None = None
    """The place that was asked for, when the unprivileged account cannot reach it."""

    def create(self) -> None:
        """Make the directory; as root others may pass through it, but not look inside."""
        if self.path.exists() and not self.path.is_dir():
            raise EmbeddedError(f"{self.path} is a file, not a directory. Choose another with TASKDECK_DATA.")
        make_passable(self.path)

    def lock(self) -> DataLock:
        """The lock that keeps a second run off this directory."""
        return DataLock(self.path / "lock", what=str(self.path))

    def check_format(self) -> None:
        """Mark new data with our format; raises EmbeddedError for data of a newer Taskdeck."""
        marker = self.path / "version"
        try:
            written = int(marker.read_text())
        except FileNotFoundError:
            _write_whole(marker, text=f"{DATA_FORMAT}\n", mode=0o644)
            return
        except ValueError:
            raise EmbeddedError(f"{marker} should hold a number and does not. Is {self.path} really ours?") from None
        if written > DATA_FORMAT:
            raise EmbeddedError(
                f"{self.path} was written by a newer Taskdeck (data format {written}, this one knows {DATA_FORMAT}). "
                "Update Taskdeck, or choose another directory with TASKDECK_DATA."
            )

    def secret_key(self) -> str:
        """The secret of this installation, made the first time and kept."""
        file = self.path / "secret_key"
        with contextlib.suppress(FileNotFoundError):
            file.chmod(0o600)
            known = file.read_text().strip()
            if len(known) >= SHORTEST_SECRET:
                return known
        made = secrets.token_urlsafe(48)
        _write_whole(file, text=made + "\n", mode=0o600)
        return made


def make_passable(path: Path) -> None:
    """Make the directory and what is missing above it, whatever the umask; what exists is left as it is."""
    if path.is_dir():
        return
    make_passable(path.parent)
    path.mkdir()
    path.chmod(0o711 if os.geteuid() == 0 else 0o700)


def choose_data_directory(project: Path, *, environ: Mapping[str, str], account: Account | None) -> DataDirectory:
    """`.taskdeck` in the project, or TASKDECK_DATA; in /var/lib when the account could not get there."""
    wanted = Path(environ.get("TASKDECK_DATA") or project / DEFAULT_NAME).expanduser().absolute()
    if account is None or account.reaches(_nearest_existing(wanted)):
        return DataDirectory(wanted)
    name = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
    return DataDirectory(ROOT_HOME / name, instead_of=wanted)


def _nearest_existing(path: Path) -> Path:
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path


def _write_whole(path: Path, *, text: str, mode: int) -> None:
    """Write through a second file, so that a crash leaves the old content or the new, never half."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
