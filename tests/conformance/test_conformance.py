"""The official conformance suite against a real server: every scenario of both revisions, none left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.conformance import suite
from tests.conformance.scenarios import LEGACY, MODERN, NOT_PASSED, SCENARIOS
from tests.conformance.suite import Check, Checks

# The database is the server's; the tests themselves do not touch it.
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(suite.LONGEST_SECONDS)]

FINE = {"SUCCESS", "INFO"}


@pytest.fixture(scope="module")
def found(address: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Checks]:
    """What the suite found, by revision; each is run once, when the first test asks."""

    @cache
    def run(revision: str) -> Checks:
        output: Path = tmp_path_factory.mktemp(f"conformance-{revision}")
        return suite.run(revision, url=address, output=output)

    return run


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, scenario) for revision in SCENARIOS for scenario in SCENARIOS[revision]]
)
def test_scenario_passes(
    found: Callable[[str], Checks],
    revision: str,
    scenario: str,
    record_property: Callable[[str, object], None],
) -> None:
    """Every check of a scenario succeeds, but for those that are named with their reason."""
    checks = found(revision)[scenario]
    record_property("conformance", (revision, scenario, [check.status for check in checks]))

    assert checks, "the suite left no record of this scenario"
    assert [check for check in checks if not _is_as_expected(scenario, check)] == []


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_scenarios_are_all_that_the_suite_lists(revision: str) -> None:
    """No scenario of the suite is left out, not even those that it runs without scoring them."""
    assert sorted(suite.scenarios(revision)) == SCENARIOS[revision]


def _is_as_expected(scenario: str, check: Check) -> bool:
    if check.status == "SKIPPED":
        return (scenario, check.id) in NOT_PASSED
    return check.status in FINE
