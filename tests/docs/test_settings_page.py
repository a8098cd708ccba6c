"""The page of settings names each of them once, with the default that it has."""

from __future__ import annotations

import re
from pathlib import Path

from console.settings.environment import Site
from tasks_app.conf import Conf

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| ([^|]+) \|", re.MULTILINE)
ELSEWHERE = {"TASKDECK_WORKERS", "TASKDECK_URL"}
"""Read by `make run` and by commands, before there are settings."""


def rows() -> dict[str, str]:
    """Each setting that the page names, with what it says of the default."""
    found = ROW.findall(PAGE.read_text())
    assert len(found) == len(dict(found)), "a setting stands on the page twice"
    return dict(found)


def test_every_setting_stands_on_the_page_and_no_other() -> None:
    site = {str(field.validation_alias or f"TASKDECK_{name.upper()}") for name, field in Site.model_fields.items()}
    engine = {f"TASKDECK_{name.upper()}" for name in Conf.model_fields}

    assert set(rows()) == site | engine | ELSEWHERE


def test_page_tells_the_defaults_of_numbers_switches_and_choices() -> None:
    said = rows()
    known = {f"TASKDECK_{name.upper()}": field.default for name, field in Conf.model_fields.items()}
    known |= {"PORT": Site.model_fields["port"].default, "TASKDECK_LOG_LEVEL": Site.model_fields["log_level"].default}

    wrong = {
        name: said[name]
        for name, default in known.items()
        if isinstance(default, int | float) or default
        if said[name].split(",")[0].strip("`") != _shown(default)
    }

    assert wrong == {}


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(int(default))
    if isinstance(default, int | float):
        return f"{default:.10g}"
    return ",".join(default) if isinstance(default, tuple) else str(default)
