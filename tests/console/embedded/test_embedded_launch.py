"""A whole run with real servers and stand-ins for the site: kills, signals at every moment, and a clean end."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

READY = "Taskdeck is ready: http://127.0.0.1:"
PARTS = {
    "postgres": "bin/postgres -D",
    "valkey": "valkey-server",
    "web": "http.server",
    "worker": "as worker",
    "engine": "as engine",
}


def test_launch_says_what_it_does_and_ends_cleanly_on_sigint(launch: Any) -> None:
    run = launch()
    run.wait_for(READY)

    run.send(signal.SIGINT)

    assert run.code() == 0
    assert run.lines[:4] == ["Starting Postgres…", "Starting Valkey…", "Migrating…", "Starting web, worker and engine…"]
    assert run.text.count(READY) == 1
    assert run.lines[-1] == f"Stopped. Your data is in {run.data}."
    assert run.is_clean()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_launch_ends_cleanly_on_other_stop_signals(launch: Any, number: signal.Signals) -> None:
    run = launch()
    run.wait_for(READY)

    run.send(number)

    assert run.code() == 0
    assert run.is_clean()


@pytest.mark.parametrize("moment", ["Starting Postgres…", "Starting Valkey…", "Migrating…", "Starting web, worker"])
def test_launch_ends_cleanly_when_interrupted_while_starting(launch: Any, moment: str) -> None:
    run = launch(MIGRATION_SECONDS="600" if moment == "Migrating…" else "0")
    run.wait_for(moment)

    run.send(signal.SIGINT)

    assert run.code() == 0
    assert run.lines[-1] == f"Stopped. Your data is in {run.data}."
    assert READY not in run.text
    assert run.is_clean()


def test_launch_brings_every_part_back_after_kill_9(launch: Any, eventually: Any) -> None:
    run = launch()
    run.wait_for(READY)
    run.wait_for("worker | at work")
    run.wait_for("engine | at work")
    before = {name: run.pid_of(part) for name, part in PARTS.items()}

    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    for name in before:
        run.wait_for(f"{name} was killed by signal 9 (SIGKILL); starting it again in 0.5 s.")

    eventually(lambda: _none_is_old(run, before), what="a new process for every part")
    address = f"postgresql://postgres@/taskdeck?host={run.data}/pg/run&port=5432"
    eventually(lambda: _answers(address), what="the database to answer again")


def test_launch_starts_again_after_the_supervisor_was_killed(launch: Any) -> None:
    first = launch()
    first.wait_for(READY)
    first.send(signal.SIGKILL)
    first.code()

    second = launch()
    second.wait_for(READY)
    second.send(signal.SIGTERM)

    assert second.code() == 0
    assert second.is_clean()


def test_children_and_servers_do_not_outlive_a_killed_supervisor(launch: Any, eventually: Any) -> None:
    run = launch()
    run.wait_for(READY)

    run.send(signal.SIGKILL)

    eventually(run.is_clean, what="the end of every process of that run")


def test_second_run_on_the_same_data_is_refused_in_one_line(launch: Any) -> None:
    first = launch()
    first.wait_for("Migrating…")

    second = launch(PORT="1")
    code = second.code()

    assert code == 1
    assert len(second.lines) == 1
    assert second.lines[0].startswith(f"{first.data} is already in use by process {first.process.pid}. Stop that one")
    assert first.process.poll() is None


def test_launch_names_the_place_when_the_system_refuses_it(launch: Any, place: Path) -> None:
    (place / "data").mkdir()
    (place / "data").chmod(0o711)
    (place / "data" / "lock").mkdir()

    run = launch()
    code = run.code()

    assert code == 1
    assert run.lines == [f"{place / 'data' / 'lock'}: Is a directory."]


def test_first_run_command_speaks_after_the_site_is_ready(launch: Any) -> None:
    run = launch(FIRST_RUN="greet")
    run.wait_for("Sign in here")

    run.send(signal.SIGTERM)

    assert run.code() == 0
    ready = next(number for number, line in enumerate(run.lines) if line.startswith(READY))
    assert run.lines[ready + 1] == "Sign in here: one-time link"


def test_failed_migration_shows_its_output_and_stops_everything(launch: Any) -> None:
    run = launch(BROKEN_MIGRATION="1")

    assert run.code() == 1
    assert "no such column" in run.lines
    assert "The migration ended with exit code 1; its output above says why." in run.lines
    assert run.is_clean()


def test_second_ctrl_c_kills_what_does_not_listen_but_stops_the_database_cleanly(launch: Any, eventually: Any) -> None:
    run = launch(STUBBORN="1")
    run.wait_for("worker | deaf")
    run.wait_for(READY)
    run.send(signal.SIGINT)
    run.wait_for("Stopping…")

    def hurry() -> bool:
        if run.process.poll() is None:
            run.send(signal.SIGINT)
        return "worker did not stop in time and was killed." in run.text

    eventually(hurry, what="the worker to be killed long before its grace is over")

    assert run.code() == 0
    assert run.is_clean()
    assert "database system is shut down" in (run.data / "pg" / "postgres.log").read_text().splitlines()[-1]


def test_given_services_are_used_and_none_is_embedded(launch: Any) -> None:
    given = {
        "DATABASE_URL": "postgresql://elsewhere/x",
        "BROKER_URL": "redis://elsewhere",
        "CHANNEL_URL": "redis://elsewhere",
    }
    run = launch(**given)
    run.wait_for(READY)

    run.send(signal.SIGTERM)

    assert run.code() == 0
    assert run.lines[0] == "Migrating…"
    assert not (run.data / "pg").exists()
    assert not (run.data / "valkey").exists()


def test_launch_works_below_a_long_path_with_odd_characters(run: Any, free_port: int, place: Path) -> None:
    data = place / ("päth with 'quotes' & 100% " + "x" * 80) / "data"
    data.parent.mkdir()
    stand_in = Path(__file__).with_name("stand_in.py")
    started = run([sys.executable, str(stand_in)], data=data, PORT=str(free_port))
    started.wait_for(READY)

    started.send(signal.SIGINT)

    assert started.code() == 0
    assert started.is_clean()


def _none_is_old(run: Any, before: dict[str, int]) -> bool:
    return all(run.pid_of(PARTS[name]) != pid for name, pid in before.items())


def _answers(address: str) -> bool:
    try:
        with psycopg.connect(address, connect_timeout=2) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False
