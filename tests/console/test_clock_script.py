"""The clock of the pages: a time that the server wrote out, as the key z shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.node import run_node

SCRIPT = Path(__file__).resolve().parents[2] / "static" / "taskdeck" / "clock.js"
PROGRAM = """
const vm = require("vm"), fs = require("fs");
const [path, zone] = process.argv.slice(1);
globalThis.document = {
  documentElement: { dataset: zone ? { zone } : {} }, querySelector: () => null, addEventListener: () => {},
};
globalThis.setInterval = () => 0;
vm.runInThisContext(fs.readFileSync(path, "utf8"));
const at = { dataset: { bare: "" }, textContent: "as the server says", dateTime: "2026-01-15T12:00:00Z" };
const shown = ["relative", "local", "utc", "relative"].map((mode) => { showMoment(at, mode); return at.textContent; });
console.log(JSON.stringify(shown));
"""


@pytest.mark.parametrize(("zone", "local"), [("Asia/Tokyo", "21:00:00"), ("", "07:00:00")])
def test_time_is_shown_in_the_zone_of_the_account_or_of_the_browser_and_in_utc(
    monkeypatch: pytest.MonkeyPatch, zone: str, local: str
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")

    shown = json.loads(run_node("-e", PROGRAM, str(SCRIPT), zone))

    assert shown == ["as the server says", local, "12:00:00", "as the server says"]
