"""Makes sure that the machine has a Chromium for the browser tests; installs it when we are root on a Debian.

Runs with the standard library alone. The browser comes from the system, so nothing here names a version.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
REFRESH = ["apt-get", "update", "-q"]
INSTALL = ["apt-get", "install", "-q", "-y", "--no-install-recommends", "chromium"]


def main() -> int:
    """Find a browser or install one; the exit code is 1, with one line of advice, when there is none in the end."""
    if find():
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing Chromium for the browser tests…", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (REFRESH, INSTALL):
            subprocess.run(command, env=environment, check=False)
    if find():
        return 0
    print(f"The tests need a browser: install Chromium so that one of {', '.join(NAMES)} is found.", file=sys.stderr)
    return 1


def find() -> str | None:
    """The first browser on the PATH; None when there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


if __name__ == "__main__":
    sys.exit(main())
