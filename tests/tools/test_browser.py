"""Finding a browser for the tests, and installing one where we may."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools import browser

# Installs a "browser" by copying itself, and writes down what it was asked.
PACKAGE_PROGRAM = """#!/bin/sh
here="${0%/*}"
echo "$*" >> "$here/asked"
[ "$1" = update ] || /bin/cp "$0" "$here/chromium"
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory on the PATH, empty."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def add_program(folder: Path, *, name: str, text: str = "#!/bin/sh\n") -> Path:
    """Put an executable into the directory."""
    program = folder / name
    program.write_text(text)
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_browser_on_the_path_is_found_and_nothing_is_installed(programs: Path, name: str) -> None:
    add_program(programs, name="apt-get", text=PACKAGE_PROGRAM)
    program = add_program(programs, name=name)

    code = browser.main()

    assert code == 0
    assert browser.find() == str(program)
    assert not (programs / "asked").exists()


def test_missing_browser_is_installed_by_root(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    add_program(programs, name="apt-get", text=PACKAGE_PROGRAM)

    code = browser.main()

    assert code == 0
    assert (programs / "asked").read_text().splitlines() == [
        "update -q",
        "install -q -y --no-install-recommends chromium",
    ]


def test_missing_browser_is_asked_for_in_one_line_when_we_may_not_install_it(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    add_program(programs, name="apt-get", text=PACKAGE_PROGRAM)

    code = browser.main()

    said = capfd.readouterr().err
    assert code == 1
    assert said.count("\n") == 1
    assert "install Chromium" in said
    assert not (programs / "asked").exists()
