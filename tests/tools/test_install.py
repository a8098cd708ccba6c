"""The script that prepares a bare machine: run as make runs it, with no network, so that it has to fall back to pip."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import install

SCRIPT = Path(install.__file__)


def run(venv: Path, requirements: Path) -> subprocess.CompletedProcess[str]:
    """Install as make does, but from nowhere: nothing can be downloaded."""
    command = [sys.executable, str(SCRIPT), str(venv), str(requirements)]
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(venv.parent)}
    return subprocess.run(command, env=offline, capture_output=True, text=True, check=False)


@pytest.fixture
def nothing(tmp_path: Path) -> Path:
    """A requirements file that asks for nothing."""
    file = tmp_path / "none.txt"
    file.touch()
    return file


def test_environment_is_made_with_pip_alone_and_kept_by_the_next_run(tmp_path: Path, nothing: Path) -> None:
    venv = tmp_path / "new"
    first = run(venv, nothing)
    mark = venv / "mark"
    mark.touch()

    second = run(venv, nothing)

    assert (first.returncode, second.returncode) == (0, 0)
    assert "Creating" in first.stdout
    assert "trying again with pip" in first.stdout
    assert "Creating" not in second.stdout
    assert mark.exists()


def test_environment_whose_python_is_gone_is_made_again(tmp_path: Path, nothing: Path) -> None:
    venv = tmp_path / "broken"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(tmp_path / "gone")

    ended = run(venv, nothing)

    assert ended.returncode == 0
    assert subprocess.run([venv / "bin" / "python", "-c", ""], check=False).returncode == 0


def test_package_that_cannot_be_had_ends_with_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    requirements = tmp_path / "some.txt"
    requirements.write_text(f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n")

    ended = run(tmp_path / "new", requirements)

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("The packages could not be installed")
    assert "Traceback" not in ended.stderr


def test_old_python_is_refused_by_name() -> None:
    with pytest.raises(install.Refused, match=r"needs Python 3\.11 or newer and python3 is 3\.10\."):
        install.require_python((3, 10))


def test_python_that_is_new_enough_is_accepted() -> None:
    install.require_python((3, 11))
    install.require_python((3, 14))


def test_python_without_ensurepip_is_refused_with_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    code = install.main([str(tmp_path / "new"), "requirements/run.txt"])

    said = capfd.readouterr().err
    assert code == 1
    assert said.count("\n") == 1
    assert "apt install python3-venv" in said
    assert not (tmp_path / "new").exists()
