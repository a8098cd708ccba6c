"""`manage.py up` itself: one clear line for each trouble, and one real run of the whole site."""

from __future__ import annotations

import signal
import socket
from typing import Any

import pytest

from console.embedded.paths import DATA_FORMAT


def test_up_refuses_a_busy_port_before_it_starts_anything(up: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]

        run = up(PORT=str(port))
        code = run.code()

    assert code == 1
    assert len(run.lines) == 1
    assert run.lines[0].startswith(f"Port {port} is already in use. Choose another: make run PORT=")
    assert not (run.data / "pg").exists()


def test_up_refuses_data_of_a_newer_taskdeck(up: Any, place: Any) -> None:
    (place / "data").mkdir()
    (place / "data").chmod(0o711)
    (place / "data" / "version").write_text(f"{DATA_FORMAT + 1}\n")

    run = up()
    code = run.code()

    assert code == 1
    assert len(run.lines) == 1
    assert "was written by a newer Taskdeck" in run.lines[0]


def test_up_refuses_a_data_directory_that_is_a_file(up: Any, place: Any) -> None:
    (place / "data").touch()

    run = up()
    code = run.code()

    assert code == 1
    assert len(run.lines) == 1
    assert str(place / "data") in run.lines[0]
    assert "TASKDECK_DATA" in run.lines[0]


@pytest.mark.parametrize(
    ("environment", "words"),
    [({"HOST": "0.0.0.0"}, "TASKDECK_ALLOWED_HOSTS"), ({"TASKDECK_WORKERS": "many"}, "TASKDECK_WORKERS")],
)
def test_up_refuses_settings_that_make_no_sense(up: Any, environment: dict[str, str], words: str) -> None:
    run = up(**environment)
    code = run.code()

    assert code == 1
    assert len(run.lines) == 1
    assert words in run.lines[0]


def test_up_serves_the_site_and_stops_everything_on_ctrl_c(up: Any) -> None:
    run = up(TASKDECK_WORKERS="1")
    run.wait_for("Taskdeck is ready: http://127.0.0.1:")

    run.send(signal.SIGINT)

    assert run.code() == 0
    assert run.lines[-1] == f"Stopped. Your data is in {run.data}."
    assert run.is_clean()
