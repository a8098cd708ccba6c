"""`make screenshots`: every page, light and dark, wide and on a phone, into docs/images.

It starts a Taskdeck of its own as `make run` does, fills it with a day of invented tasks, and lets the demo play.
A page of the table whose route does not exist is left out.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, cast

from playwright.sync_api import Browser, Page, sync_playwright

from tests.processes import free_port
from tests.screenshots.table import SCHEMES, SHOTS, SIZES, Shot

PROJECT = Path(__file__).resolve().parents[2]
IMAGES = PROJECT / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
SEEDED_TASKS = "8000"
START_SECONDS = 240.0
# By then the demo has asked its question, and some of its work is under way.
DEMO_SECONDS = 4.0
SETTLE_MS = 700
SIGN_IN = re.compile(r"Sign in: (\S+)")


@contextmanager
def taskdeck(data: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """A running Taskdeck on an empty directory; gives the link that signs in, once, and what fills it with tasks."""
    port = free_port()
    environment = os.environ | {"TASKDECK_DATA": str(data / "data"), "PORT": str(port), "PYTHONUNBUFFERED": "1"}
    log = data / "log"
    with log.open("wb") as output:
        up = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=PROJECT, env=environment, stdout=output, stderr=output
        )
    try:
        yield _wait_for_link(log, up), partial(_seed, environment)
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(60)


def _seed(environment: dict[str, str]) -> None:
    seed = [sys.executable, "manage.py", "seed", "--tasks", SEEDED_TASKS, "--seed", "7"]
    subprocess.run(seed, cwd=PROJECT, env=environment, check=True, stdout=subprocess.DEVNULL)


def _wait_for_link(log: Path, up: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + START_SECONDS
    while not (found := SIGN_IN.search(log.read_text())):
        assert up.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
    return found[1]


def photograph(browser: Browser, base: str, cookies: list[dict[str, str]], shots: Sequence[Shot]) -> None:
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
                if shot.is_signed_in:
                    context.add_cookies(cookies)  # type: ignore[arg-type]
                if _open(page, shot):
                    page.screenshot(path=IMAGES / f"{shot.name}-{scheme}-{size}.png")
            context.close()


def _open(page: Page, shot: Shot) -> bool:
    answer = page.goto(shot.address)
    is_there = answer is not None and (answer.ok or shot.name == "not-found")
    if is_there and shot.follow:
        page.locator(shot.follow).first.click()
        page.wait_for_load_state()
    page.wait_for_timeout(SETTLE_MS)
    return is_there


def main() -> None:
    """Start, photograph, stop."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="taskdeck-pictures-") as name:
        data = Path(name)
        data.chmod(0o755)
        with taskdeck(data) as (link, seed), sync_playwright() as playwright:
            base = link.partition("/login/")[0]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--disable-dev-shm-usage"])
            context = browser.new_context(base_url=base)
            context.new_page().goto(link)
            time.sleep(DEMO_SECONDS)
            cookies = cast("list[dict[str, str]]", context.cookies())
            photograph(browser, base, cookies, [shot for shot in SHOTS if shot.is_early])
            seed()
            photograph(browser, base, cookies, [shot for shot in SHOTS if not shot.is_early])
            browser.close()
    print(f"{len(list(IMAGES.glob('*.png')))} pictures are in {IMAGES.relative_to(PROJECT)}.")


main()
