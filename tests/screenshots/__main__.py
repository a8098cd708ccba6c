"""`make screenshots`: every page, light and dark, wide and on a phone, into docs/images.

It starts a Taskdeck of its own as `make run` does, fills it with a day of invented tasks, and lets the demo play.
A page that is not there, or on which something to click is missing, is left out and named.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, cast

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as NotThere

from tests.processes import free_port
from tests.screenshots.table import SCHEMES, SHOTS, SIZES, Shot, Viewer

PROJECT = Path(__file__).resolve().parents[2]
IMAGES = PROJECT / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
SEEDED_TASKS = "8000"
START_SECONDS = 240.0
# By then the demo has asked its question, and some of its work is under way.
DEMO_SECONDS = 4.0
SETTLE_MS = 700
CLICK_MS = 5000
NEWCOMER = "newcomer"
SIGN_IN = re.compile(r"Sign in: (\S+)")

Cookies: TypeAlias = list[dict[str, str]]


class Manage(Protocol):
    """Runs a command of `manage.py` on a running Taskdeck, with more in its environment."""

    def __call__(self, *command: str, **more: str) -> str:
        """What the command says."""


@contextmanager
def taskdeck(data: Path) -> Iterator[tuple[str, Manage]]:
    """A running Taskdeck on an empty directory; gives the link that signs in, once, and its commands."""
    port = free_port()
    environment = os.environ | {"TASKDECK_DATA": str(data / "data"), "PORT": str(port), "PYTHONUNBUFFERED": "1"}
    log = data / "log"
    with log.open("wb") as output:
        up = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=PROJECT, env=environment, stdout=output, stderr=output
        )
    try:
        yield _wait_for_link(log, up), partial(_manage, environment)
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(60)


def _manage(environment: dict[str, str], *command: str, **more: str) -> str:
    """Run one of the commands of `manage.py`, and give what it says."""
    full = [sys.executable, "manage.py", *command]
    done = subprocess.run(full, cwd=PROJECT, env=environment | more, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def fill(manage: Manage) -> None:
    """A day of invented tasks; the oldest of them have expired, and were purged."""
    manage("seed", "--tasks", SEEDED_TASKS, "--seed", "7")
    manage("purge", TASKDECK_PURGE_AFTER="1")


def newcomer(manage: Manage, base: str) -> str:
    """A link that signs in somebody who has just been given an account."""
    manage("shell", "-c", f"from django.contrib.auth.models import User; User.objects.create_user({NEWCOMER!r})")
    return manage("login_link", NEWCOMER, "--site", base).strip().splitlines()[-1]


def _wait_for_link(log: Path, up: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + START_SECONDS
    while not (found := SIGN_IN.search(log.read_text())):
        assert up.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
    return found[1]


def photograph(browser: Browser, base: str, cookies: dict[Viewer, Cookies], shots: Sequence[Shot]) -> None:
    """Take these pictures in every theme and size."""
    for scheme in SCHEMES:
        for size, (width, height) in SIZES.items():
            context = browser.new_context(
                base_url=base,
                color_scheme=cast('Literal["light", "dark"]', scheme),
                viewport={"width": width, "height": height},
                reduced_motion="reduce",
            )
            page = context.new_page()
            for shot in shots:
                context.clear_cookies()
                context.add_cookies(cookies[shot.viewer])  # type: ignore[arg-type]
                if _open(page, shot):
                    page.screenshot(path=IMAGES / f"{shot.name}-{scheme}-{size}.png")
                else:
                    print(f"There is no {shot.name} ({scheme}, {size}): {shot.address}")
            context.close()


def _open(page: Page, shot: Shot) -> bool:
    answer = page.goto(shot.address)
    if answer is None or not (answer.ok or shot.name == "not-found"):
        return False
    for each in shot.follow:
        try:
            page.locator(each).first.click(timeout=CLICK_MS)
        except NotThere:
            return False
        page.wait_for_load_state()
    page.wait_for_timeout(SETTLE_MS)
    return True


def sign_in(browser: Browser, link: str) -> Cookies:
    """What a browser keeps that has followed this link."""
    context = browser.new_context()
    context.new_page().goto(link)
    found = cast("Cookies", context.cookies())
    context.close()
    return found


def main() -> None:
    """Start, photograph, stop."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="taskdeck-pictures-") as name:
        data = Path(name)
        data.chmod(0o755)
        with taskdeck(data) as (link, manage), sync_playwright() as playwright:
            base = link.partition("/login/")[0]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--disable-dev-shm-usage"])
            cookies = {
                Viewer.ADMIN: sign_in(browser, link),
                Viewer.NEWCOMER: sign_in(browser, newcomer(manage, base)),
                Viewer.NOBODY: [],
            }
            time.sleep(DEMO_SECONDS)
            photograph(browser, base, cookies, [shot for shot in SHOTS if shot.is_early])
            fill(manage)
            photograph(browser, base, cookies, [shot for shot in SHOTS if not shot.is_early])
            browser.close()
    print(f"{len(list(IMAGES.glob('*.png')))} pictures are in {IMAGES.relative_to(PROJECT)}.")


main()
