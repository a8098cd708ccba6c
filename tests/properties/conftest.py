"""Lets the assertions of the shared modules of this folder explain themselves."""

from __future__ import annotations

import pytest

for module in ("machine", "machine_rules", "machine_verbs", "machine_worker", "model"):
    pytest.register_assert_rewrite(f"tests.properties.{module}")
