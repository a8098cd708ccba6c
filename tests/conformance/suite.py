"""The official conformance suite: installed on demand, run against an address, and read by its own records.

What it prints is for people; what counts is the file of checks that it leaves for each scenario, because its exit code
passes over skipped and unscored ones.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tests.node import INSTALL_SECONDS, installed, run_node

PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
RUN_SECONDS = 600.0
LONGEST_SECONDS = INSTALL_SECONDS + 2 * RUN_SECONDS
# Another extension than ours.
NOT_OURS = "sep-2640-"

_SCENARIO = re.compile(r"^\s+- ([a-z0-9-]+)(?: \[(server|client)\])?$")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a scenario looked at."""

    id: str
    status: str
    message: str = ""


Checks = dict[str, list[Check]]


def scenarios(revision: str) -> list[str]:
    """Every server scenario that the suite lists for a revision of the protocol, in its order."""
    found: list[str] = []
    is_of_server = False
    for line in _suite("list", "--requirements", revision).splitlines():
        if line and not line.startswith(" "):
            is_of_server = line.startswith("Server scenarios")
        named = _SCENARIO.match(line)
        if named and not named[1].startswith(NOT_OURS) and (named[2] == "server" or (is_of_server and not named[2])):
            found.append(named[1])
    return found


def run(revision: str, *, url: str, output: Path) -> Checks:
    """Run all of them against a server, and give what each one found."""
    command = ["server", "--url", url, "--requirements", revision, "--output-dir", str(output)]
    _suite(*command, seconds=RUN_SECONDS, may_fail=True)
    return {scenario: _read(scenario, output) for scenario in scenarios(revision)}


def _suite(*command: str, seconds: float = 60.0, may_fail: bool = False) -> str:
    program = installed(PACKAGE, VERSION) / "dist" / "index.js"
    return run_node(str(program), *command, seconds=seconds, may_fail=may_fail)


def _read(scenario: str, output: Path) -> list[Check]:
    records = [path for path in output.glob("*/checks.json") if _is_of(scenario, path)]
    found = [each for path in records for each in json.loads(path.read_text())]
    return [Check(each["id"], each["status"], each.get("errorMessage") or "") for each in found]


def _is_of(scenario: str, path: Path) -> bool:
    return re.fullmatch(rf"server-{re.escape(scenario)}-\d{{4}}-.*", path.parent.name) is not None
