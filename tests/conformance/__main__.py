"""`python -m tests.conformance`: the official suite against a server of its own, as a table; fails if a check does."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest


class Table:
    """Prints one line for each scenario once everything has run."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, list[str], bool]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test recorded."""
        if report.when != "call":
            return
        for name, value in report.user_properties:
            if name == "conformance" and isinstance(value, tuple):
                self._rows.append((*value, report.passed))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.write_line(f"\n{'revision':<12}{'scenario':<50}{'passed':>7}{'failed':>8}{'skipped':>9}")
        for revision, scenario, statuses, is_fine in sorted(self._rows):
            count = Counter(statuses)
            failed = count["FAILURE"] + count["WARNING"]
            numbers = f"{count['SUCCESS']:>7}{failed:>8}{count['SKIPPED']:>9}"
            terminalreporter.write_line(
                f"{revision:<12}{scenario:<50}{numbers}  {'' if is_fine else 'FAILED'}".rstrip()
            )


if __name__ == "__main__":
    here = str(Path(__file__).parent)
    sys.exit(pytest.main([here, "-n0", "-q", "--no-header", "-p", "no:randomly", *sys.argv[1:]], plugins=[Table()]))
