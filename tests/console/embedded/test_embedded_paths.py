"""Where the data lives, the lock on it, and the marks that it carries."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from console.embedded.account import unprivileged_account
from console.embedded.errors import EmbeddedError
from console.embedded.paths import DATA_FORMAT, ROOT_HOME, DataDirectory, choose_data_directory


def test_data_is_in_the_project_unless_the_environment_moves_it(place: Path) -> None:
    default = choose_data_directory(place, environ={}, account=None)
    empty = choose_data_directory(place, environ={"TASKDECK_DATA": ""}, account=None)
    moved = choose_data_directory(place, environ={"TASKDECK_DATA": str(place / "else" / "where")}, account=None)

    assert default == empty == DataDirectory(place / ".taskdeck")
    assert moved == DataDirectory(place / "else" / "where")


def test_data_stays_where_the_unprivileged_account_can_reach_it(place: Path) -> None:
    chosen = choose_data_directory(place, environ={}, account=unprivileged_account())

    assert chosen == DataDirectory(place / ".taskdeck")


def test_data_moves_only_for_root_when_the_unprivileged_account_cannot_reach_it(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)

    chosen = choose_data_directory(closed, environ={}, account=unprivileged_account())

    moved = chosen.path.parent == ROOT_HOME and chosen.instead_of == closed / ".taskdeck"
    assert moved == (os.geteuid() == 0)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_data_directory_hides_its_content_whatever_the_umask(place: Path) -> None:
    data = DataDirectory(place / "deep" / "er")

    before = os.umask(0o077)
    try:
        data.create()
    finally:
        os.umask(before)

    expected = 0o711 if os.geteuid() == 0 else 0o700
    assert stat.S_IMODE(data.path.stat().st_mode) == expected
    assert stat.S_IMODE(data.path.parent.stat().st_mode) == expected


def test_data_directory_that_is_a_file_is_refused(place: Path) -> None:
    (place / "data").touch()

    with pytest.raises(EmbeddedError, match="is a file, not a directory"):
        DataDirectory(place / "data").create()


def test_lock_names_its_holder_and_is_free_after_release(place: Path) -> None:
    data = DataDirectory(place)

    with data.lock(), pytest.raises(EmbeddedError, match=f"{place} is already in use by process {os.getpid()}"):
        data.lock().acquire()

    with data.lock() as lock:
        assert lock.path.read_text() == f"{os.getpid()}\n"


def test_format_is_marked_once_and_accepted_again(place: Path) -> None:
    data = DataDirectory(place)

    data.check_format()
    data.check_format()

    assert (place / "version").read_text() == f"{DATA_FORMAT}\n"


def test_format_of_a_newer_taskdeck_is_refused(place: Path) -> None:
    (place / "version").write_text(f"{DATA_FORMAT + 1}\n")

    with pytest.raises(EmbeddedError, match=r"was written by a newer Taskdeck.*Update Taskdeck"):
        DataDirectory(place).check_format()

    assert (place / "version").read_text() == f"{DATA_FORMAT + 1}\n"


def test_format_that_is_no_number_is_refused(place: Path) -> None:
    (place / "version").write_text("eleven\n")

    with pytest.raises(EmbeddedError, match="should hold a number"):
        DataDirectory(place).check_format()


def test_secret_key_is_made_once_and_readable_by_the_owner_only(place: Path) -> None:
    first = DataDirectory(place).secret_key()
    (place / "secret_key").chmod(0o644)
    second = DataDirectory(place).secret_key()

    assert first == second
    assert len(first) >= 50
    assert stat.S_IMODE((place / "secret_key").stat().st_mode) == 0o600


def test_secret_key_is_made_again_when_a_crash_left_the_file_empty(place: Path) -> None:
    (place / "secret_key").touch()

    made = DataDirectory(place).secret_key()

    assert len(made) >= 50
    assert (place / "secret_key").read_text().strip() == made
