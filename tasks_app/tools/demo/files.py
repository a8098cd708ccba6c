"""A tool with progress, a log and checks for a cancel: it writes a directory of files and hashes them."""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from tasks_app.engine import Context, tool
from tasks_app.tools.demo.pace import Seconds, linger

KIB = 1024


class Hashed(BaseModel):
    """What was hashed, and one digest over all of it."""

    files: int
    bytes: int
    digest: str


@tool(title="Hash files", expected=12, labels=("files", "seed"))
def hash_files(
    ctx: Context,
    files: Annotated[int, Field(ge=1, le=500, description="How many files to make and hash.")] = 24,
    kib: Annotated[int, Field(ge=1, le=1024, description="The size of the largest file, in KiB.")] = 64,
    seed: Annotated[int, Field(description="The same seed makes the same files.")] = 1,
    seconds: Seconds = 12,
) -> Hashed:
    """Make a directory of files and take the SHA-256 of each.

    Shows progress, a line of log for each file, and a cancel that takes effect at once. The files are made from the
    seed in a temporary directory, so the same arguments always give the same digest.
    """
    total, whole = 0, hashlib.sha256()
    with tempfile.TemporaryDirectory(prefix="taskdeck-hash-") as directory:
        for number, path in enumerate(_write(Path(directory), files=files, kib=kib, seed=seed), 1):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(digest.encode())
            total += path.stat().st_size
            ctx.log(f"{digest}  {path.name}")
            ctx.progress(number, files, f"Hashed {path.name}")
            linger(ctx, seconds / files)
    return Hashed(files=files, bytes=total, digest=whole.hexdigest())


def _write(directory: Path, *, files: int, kib: int, seed: int) -> Iterator[Path]:
    content = random.Random(seed)  # noqa: S311 - the files must be the same each time, not secret
    for number in range(1, files + 1):
        path = directory / f"file-{number:03}.bin"
        path.write_bytes(content.randbytes(content.randint(1, kib * KIB)))
        yield path
