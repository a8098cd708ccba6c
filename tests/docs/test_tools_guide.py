"""The tool author's guide: its examples run, and it leaves out nothing that an author can use."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tasks_app import engine
from tasks_app.engine import Context, Handle
from tasks_app.engine.registry import Registry, Tool, registry

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "tools.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULE = "tools_guide"


def blocks() -> Iterator[str]:
    """The examples, each moved down to the line that it has in the guide, so that a failure names it."""
    text = GUIDE.read_text()
    for found in BLOCK.finditer(text):
        yield "\n" * text.count("\n", 0, found.start(1)) + found[1]


@pytest.fixture
def guide(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, Registry]]:
    """All examples, run in order in one module, and the tools that they declared."""
    module = ModuleType(MODULE)
    monkeypatch.setitem(sys.modules, MODULE, module)
    with registry.temporary() as own:
        for block in blocks():
            exec(compile(block, str(GUIDE), "exec", dont_inherit=True), module.__dict__)
        yield module, own


def test_every_example_of_the_guide_runs(guide: tuple[ModuleType, Registry]) -> None:
    module, own = guide

    assert own.problems == ()
    assert {"add", "deploy", "render", "drop_database", "onboard"} <= {made.name for made in own.all()}
    assert module.add(1, 2) == "1 + 2 = 3"


def test_every_example_that_declares_a_tool_is_tested_in_the_guide() -> None:
    text = "".join(blocks())

    declared = set(re.findall(r"@tool.*?def (\w+)", text, re.DOTALL))
    tested = set(re.findall(r"(?:run_tool|tool_of)\((\w+)", text))
    assert declared
    assert declared - tested == set()


def test_first_tool_of_the_guide_has_five_lines() -> None:
    lines = [line for line in next(blocks()).splitlines() if line]

    assert len(lines) == 5


# For the tools that ship: they read the store, which other tools do not.
OF_THE_SERVER = {"owner_id", "credential_id"}


@pytest.mark.parametrize("name", sorted({name for name in dir(Context) if name[0] != "_"} - OF_THE_SERVER))
def test_guide_names_everything_that_a_context_can_do(name: str) -> None:
    assert name in mentioned()


@pytest.mark.parametrize("name", [name for name in dir(Handle) if not name.startswith("_")])
def test_guide_names_everything_that_a_handle_can_do(name: str) -> None:
    assert name in mentioned()


@pytest.mark.parametrize(
    "name", [name for name in inspect.signature(Tool).parameters if name not in {"function", "signature"}]
)
def test_guide_names_every_option_of_a_tool(name: str) -> None:
    table = GUIDE.read_text().partition("## Every option")[2]

    assert f"`{name}`" in table


# What an author meets as a value or as a text, and need not import.
NOT_IMPORTED = {"Answer", "BadQuestion", "Handle", "IllegalOrder", "InvalidArguments", "Root", "Sample"}


# Prompts and resources are no tools.
NO_TOOLS = {"prompt", "resource"}


@pytest.mark.parametrize("name", sorted(set(engine.__all__) - NOT_IMPORTED - NO_TOOLS))
def test_guide_names_what_an_author_imports(name: str) -> None:
    assert name in mentioned()


def mentioned() -> set[str]:
    """Every word that the guide writes as code."""
    text = GUIDE.read_text()
    inline = " ".join(re.findall(r"`([^`\n]+)`", text))
    return set(re.findall(r"\w+", " ".join(blocks()) + " " + inline))
