"""What no template may contain, because the content policy or the escaping of untrusted text would not hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.pages.navigation import ENTRIES

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SPRITE = (ROOT / "static/taskdeck/icons.svg").read_text()

FORBIDDEN = {
    "unescaped output": re.compile(r"\|\s*safe(seq)?\b|\bautoescape\s+off\b"),
    "inline style": re.compile(r"<style\b|\sstyle\s*=", re.IGNORECASE),
    "inline script": re.compile(r"<script\b(?![^>]*\ssrc=)|javascript:", re.IGNORECASE),
    "inline event listener": re.compile(r"\s(on[a-z]+|hx-on[:-][\w:-]*)\s*=", re.IGNORECASE),
    "foreign address": re.compile(r"""(src|href|action)\s*=\s*["'](https?:)?//""", re.IGNORECASE),
}


def found_in(text: str) -> set[str]:
    return {name for name, pattern in FORBIDDEN.items() if pattern.search(text)}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_template_holds_nothing_that_a_strict_policy_forbids(template: Path) -> None:
    assert found_in(template.read_text()) == set()


@pytest.mark.parametrize(
    ("markup", "problem"),
    [
        ("{{ name|safe }}", "unescaped output"),
        ("{% autoescape off %}", "unescaped output"),
        ('<p style="color: red">', "inline style"),
        ("<script>go()</script>", "inline script"),
        ('<script type="module">go()</script>', "inline script"),
        ('<a onclick="go()">', "inline event listener"),
        ('<a hx-on:click="go()">', "inline event listener"),
        ('<script src="https://cdn.example/a.js"></script>', "foreign address"),
    ],
)
def test_the_search_finds_what_it_is_for(markup: str, problem: str) -> None:
    assert found_in(markup) == {problem}


def test_python_never_marks_text_as_safe() -> None:
    sources = [path for package in ("console", "tasks_app") for path in (ROOT / package).rglob("*.py")]

    assert len(sources) > 10
    assert [path.name for path in sources if "mark_safe" in path.read_text() or "SafeString" in path.read_text()] == []


def test_every_icon_that_is_used_is_in_the_sprite() -> None:
    used = {
        name for path in TEMPLATES for name in re.findall(r'parts/icon.html" with name="([^"]+)"', path.read_text())
    }
    used |= {entry.icon for entry in ENTRIES}

    drawn = set(re.findall(r'<symbol id="([^"]+)"', SPRITE))

    assert "logo" in used
    assert used - drawn == set()
