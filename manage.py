#!/usr/bin/env python
"""Django's command line; without a choice it runs with the embedded services."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.embedded")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
