"""What the tree itself is held to: sizes, docstrings, nothing foreign in it, nothing that points out of it."""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FILE = 400
LONGEST_FUNCTION = 50
LONGEST_LINE = 500
PICTURE = ".png"
CODE = ("console", "tasks_app", "tools", "manage.py")

FOREIGN_NAMES = ("*.lock", "package-lock.json", "*.min.js", "*.min.css", "*.map", "*.whl", "node_modules", "vendor")
# In pieces, because this file is looked at too.
REGISTRIES = re.compile(
    r"py[p]i\.org|python[h]osted|npm[j]s|yarn[p]kg|find[-]links|--(?:extra-)?index[-]url", re.IGNORECASE
)
MACHINE_PATHS = re.compile(r"(?<![\w.~}*)\]])/(?:work|home|root|Users|opt|mnt|tmp/clone)/[\w.-]+")
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")


def files() -> Iterator[Path]:
    """Every file of the project: what is there and not named in `.gitignore`."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().split()] + [".git"]
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if not any(fnmatch(name, pattern) for pattern in ignored)]
        yield from (Path(folder, name) for name in names if not any(fnmatch(name, pattern) for pattern in ignored))


def texts() -> Iterator[tuple[Path, str]]:
    """Every text of the project but this one, which has to spell out what it looks for."""
    for path in files():
        if path != Path(__file__).resolve() and path.suffix != PICTURE:
            yield path.relative_to(ROOT), path.read_text()


def code() -> Iterator[tuple[Path, str]]:
    """Every module that ships, without migrations, which are generated."""
    for path, text in texts():
        if path.suffix == ".py" and path.parts[0] in CODE and "migrations" not in path.parts:
            yield path, text


def pins(name: str) -> dict[str, str]:
    """The version of each package in a requirements file."""
    return dict(re.findall(r"^([\w.-]+)(?:\[\S+\])?==(\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))


def test_every_module_says_what_it_holds() -> None:
    silent = [str(path) for path, text in code() if text.strip() and not ast.get_docstring(ast.parse(text))]

    assert silent == []


def test_no_module_is_too_long() -> None:
    long = [f"{path}: {lines}" for path, text in code() if (lines := text.count("\n")) > LONGEST_FILE]

    assert long == []


def test_no_function_is_too_long() -> None:
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path, text in code()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]

    assert long == []


def test_nothing_foreign_lies_in_the_tree() -> None:
    foreign = [
        str(path.relative_to(ROOT))
        for path in files()
        if any(fnmatch(part, pattern) for part in path.relative_to(ROOT).parts for pattern in FOREIGN_NAMES)
    ]

    assert foreign == []


def test_no_asset_is_minified() -> None:
    assets = [(path, text) for path, text in texts() if path.parts[0] == "static"]
    dense = [str(path) for path, text in assets if any(len(line) > LONGEST_LINE for line in text.splitlines())]

    assert assets != []
    assert dense == []


def test_no_file_names_a_package_registry() -> None:
    found = [f"{path}: {match[0]}" for path, text in texts() if (match := REGISTRIES.search(text))]

    assert found == []


def test_no_file_names_a_path_of_one_machine() -> None:
    found = [f"{path}: {match[0]}" for path, text in texts() if (match := MACHINE_PATHS.search(text))]

    assert found == []


def test_no_link_leads_out_of_the_project_or_nowhere() -> None:
    links = [
        (path, ROOT / path.parent / link)
        for path, text in texts()
        if path.suffix == ".md"
        for link in LINK.findall(text)
    ]
    lost = [f"{path}: {to}" for path, to in links if not to.exists() or ROOT not in to.resolve().parents]
    symbolic = [str(path) for path in files() if path.is_symlink()]

    assert links != []
    assert lost == []
    assert symbolic == []


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "requirements").iterdir()))
def test_every_requirement_is_pinned_and_hashed(name: str) -> None:
    entries = (ROOT / "requirements" / name).read_text().replace("\\\n", " ").splitlines()

    loose = [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry]

    assert entries != []
    assert loose == []


def test_one_command_remakes_every_file_of_requirements() -> None:
    _, _, rule = (ROOT / "Makefile").read_text().partition("\nrequirements:")

    made = set(re.findall(r"-o requirements/(\S+)", rule.partition("\n\n")[0]))

    assert made == {path.name for path in (ROOT / "requirements").iterdir()}


def test_tests_run_on_the_versions_that_ship() -> None:
    shipped, tested = pins("run.txt"), pins("test.txt")

    assert shipped.items() <= tested.items()


def test_help_lists_every_command() -> None:
    declared = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    assert declared is not None
    assert {line.split()[1] for line in shown.splitlines()} == set(declared[1].split())


@pytest.mark.django_db
def test_migrations_match_the_models() -> None:
    said = io.StringIO()

    with suppress(SystemExit):  # its exit code says less than its output
        call_command("makemigrations", check=True, dry_run=True, stdout=said)

    assert said.getvalue().strip() == "No changes detected"
