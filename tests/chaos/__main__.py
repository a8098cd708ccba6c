"""The chaos run: `python -m tests.chaos --seconds 30 --tasks 300 --seed 7`. Exits with 1 when a promise was broken.

Under a minute only the faults of the short form happen; from a minute on all of them.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

import django

from tests.chaos.cluster import Cluster


def main() -> int:
    """Run it as the command line says."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="taskdeck-chaos-"))
    folder.chmod(0o755)
    cluster = Cluster(folder)
    is_good = False
    try:
        cluster.start_services()
        django.setup()

        from tests.chaos.drive import Drive

        is_good = Drive(cluster, options).run()
    finally:
        cluster.stop()
        if is_good:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"The logs of the processes and the ledger are kept in {folder}")
    return 0 if is_good else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30, help="how long faults happen")
    parser.add_argument("--tasks", type=int, default=300, help="how many tasks the clients create meanwhile")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="the same seed, the same plan")
    parser.add_argument("--faults", default="", help="only these, as in C1,C5")
    return parser.parse_args()


if __name__ == "__main__":
    for name in ("DATABASE_URL", "BROKER_URL", "CHANNEL_URL"):
        os.environ.pop(name, None)
    sys.exit(main())
