"""Which tools a server offers of its own accord, by its settings: asked in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIST = """
import django, json
django.setup()
from tasks_app.engine.registry import registry
print(json.dumps([[tool.name for tool in registry.all()], [problem.message for problem in registry.problems]]))
"""


def offered(**environment: str) -> list[str]:
    """The names of all tools of a server with these settings, none of which may be declared wrongly."""
    rest = {name: value for name, value in os.environ.items() if not name.startswith("TASKDECK_")}
    settings = {"DJANGO_SETTINGS_MODULE": "console.settings.test"} | environment
    ended = subprocess.run(
        [sys.executable, "-c", LIST], cwd=ROOT, env=rest | settings, capture_output=True, text=True, check=True
    )
    names, problems = json.loads(ended.stdout)
    assert problems == []
    return list(names)


def test_embedded_server_offers_the_demo_tools_beside_the_fallback_tool() -> None:
    assert offered() == [
        "crawl_site",
        "deploy_service",
        "feedback_form",
        "get_task_result",
        "hash_files",
        "nightly_workflow",
        "provision_database",
        "resize_images",
        "send_report",
        "sync_crm",
    ]


@pytest.mark.parametrize(
    ("environment", "names"),
    [({}, ["get_task_result"]), ({"TASKDECK_FALLBACK_TOOL": "fetch_result"}, ["fetch_result"])],
    ids=["default name", "renamed"],
)
def test_server_without_the_demo_offers_only_the_fallback_tool(environment: dict[str, str], names: list[str]) -> None:
    """Covers check 116: its name is a setting."""
    assert offered(TASKDECK_DEMO="0", **environment) == names


def test_server_offers_the_tools_of_the_modules_that_its_settings_name(tmp_path: Path) -> None:
    for name in ("left", "right"):
        (tmp_path / f"{name}_tools.py").write_text(f"from tasks_app.engine import tool\n\n@tool\ndef {name}(): ...\n")

    names = offered(TASKDECK_DEMO="0", TASKDECK_TOOL_MODULES="left_tools, right_tools", PYTHONPATH=str(tmp_path))

    assert names == ["get_task_result", "left", "right"]
