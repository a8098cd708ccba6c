"""What we send about tasks fits the schemas that the authors of the tasks extension publish, in both revisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.golden import FOLDER
from tests.node import INSTALL_SECONDS, installed, run_node

PACKAGE, VERSION = "@modelcontextprotocol/ext-tasks", "0.2.2"
CHECKER = Path(__file__).parent / "published.mjs"

LEGACY = {
    "created": "CreateTaskResultV1Schema",
    "asking": "GetTaskResultV1Schema",
    "completed": "GetTaskResultV1Schema",
    "result": "TaskResultV1Schema",
    "tool error": "TaskResultV1Schema",
    "list": "ListTasksResultV1Schema",
    "cancelled": "CancelTaskResultV1Schema",
}
MODERN = {
    "created": "CreateTaskResultV2Schema",
    "asking": "GetTaskResultV2Schema",
    "completed": "GetTaskResultV2Schema",
    "tool error": "GetTaskResultV2Schema",
    "protocol error": "GetTaskResultV2Schema",
    "cancelled": "GetTaskResultV2Schema",
    "answered": "UpdateTaskResultV2Schema",
    "cancel": "CancelTaskResultV2Schema",
    "round trip": "InputRequiredCallToolResultV2Schema",
}

pytestmark = pytest.mark.timeout(INSTALL_SECONDS + 60)


def problems(cases: list[dict[str, Any]]) -> list[list[str]]:
    """What the published schemas find wrong with each case."""
    found: list[list[str]] = json.loads(
        run_node(str(CHECKER), str(installed(PACKAGE, VERSION)), text=json.dumps(cases))
    )
    return found


def case(revision: str, schema: str, value: Any) -> dict[str, Any]:
    """One value and the schema that it should fit."""
    return {"revision": revision, "schema": schema, "value": value}


def test_golden_messages_fit_the_published_schemas() -> None:
    kept = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in ("legacy", "modern")}
    cases = [case("v1", schema, kept["legacy"][name]["result"]) for name, schema in LEGACY.items()]
    cases += [case("v2", schema, kept["modern"][name]["result"]) for name, schema in MODERN.items()]
    cases += [case("v1", "TaskStatusNotificationV1Schema", told) for told in kept["legacy"]["notifications"]]
    cases += [case("v2", "TaskStatusNotificationV2Schema", told) for told in kept["modern"]["notifications"]]
    tools = kept["legacy"]["tools/list"]["result"]["tools"]
    cases += [case("v1", "ToolV1Schema", tool) for tool in tools]
    cases.append(case("v1", "ServerCapabilitiesV1Schema", kept["legacy"]["initialize"]["result"]["capabilities"]))

    assert problems(cases) == [[]] * len(cases)


def test_published_schemas_refuse_the_other_dialect() -> None:
    """So that the test above can fail."""
    kept = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in ("legacy", "modern")}
    crossed = [
        case("v1", "CreateTaskResultV1Schema", kept["modern"]["created"]["result"]),
        case("v2", "CreateTaskResultV2Schema", kept["legacy"]["created"]["result"]),
        case("v2", "GetTaskResultV2Schema", kept["legacy"]["completed"]["result"]),
        case("v1", "TaskStatusNotificationV1Schema", kept["modern"]["notifications"][0]),
        case("v2", "TaskStatusNotificationV2Schema", kept["legacy"]["notifications"][0]),
    ]

    assert all(problems(crossed))
