"""The strip that says what is wrong: on every page, with what mends it, and without cost for whoever looks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.pages import shell, trouble
from console.pages.health import FINE, NO_BROKER, NO_WORKER, Part, Parts, Probe
from console.pages.trouble import FRESH_SECONDS, KNOWN, NO_LOOP, PATIENCE_SECONDS, Watch
from tasks_app.store import loops, workers
from tests.console.pages.people import Someone
from tests.waiting import until

PROBES = trouble.watch._probes


class Machine:
    """A probe whose answer a test decides, and a clock that it moves."""

    def __init__(self, **parts: Part) -> None:
        self.parts: Parts = parts
        self.asked = 0
        self.seconds = 0.0
        self.watch = Watch([Probe(self._answer, otherwise={})], clock=lambda: self.seconds)

    def _answer(self) -> Parts:
        self.asked += 1
        return dict(self.parts)

    def says(self, *, after: float) -> list[str]:
        """What is shown so many seconds later, when the question that this asks has been answered."""
        self.seconds += after
        asked = self.asked
        self.watch.troubles()
        until(lambda: self.asked > asked and all(answer.done() for answer in self.watch._answers))
        return [found.what for found in self.watch.troubles()]


def test_trouble_is_said_once_a_worker_had_the_time_to_start() -> None:
    machine = Machine(workers=NO_WORKER, loop=NO_LOOP)

    assert machine.says(after=1) == []
    assert machine.says(after=PATIENCE_SECONDS) == ["No worker is up.", "The engine loop does not run."]


def test_trouble_goes_when_it_is_mended() -> None:
    machine = Machine(workers=NO_WORKER)
    assert machine.says(after=PATIENCE_SECONDS)

    machine.parts = {"workers": FINE}

    assert machine.says(after=FRESH_SECONDS) == []


def test_many_viewers_ask_once() -> None:
    machine = Machine(workers=FINE)
    machine.says(after=PATIENCE_SECONDS)

    for _ in range(100):
        machine.watch.troubles()

    assert machine.asked == 1


def test_every_trouble_has_words_and_something_that_mends_it() -> None:
    assert set(KNOWN) == {NO_WORKER, NO_LOOP, NO_BROKER}
    assert all(found.what and found.so and found.mend and found.code for found in KNOWN.values())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> Iterator[None]:
    """A process that has been up for long and has asked nobody yet."""
    now = iter(range(0, 10**6, int(PATIENCE_SECONDS)))
    fresh = Watch(PROBES, clock=lambda: float(next(now)))
    monkeypatch.setattr(trouble, "watch", fresh)
    monkeypatch.setattr(shell, "watch", fresh)
    yield
    until(lambda: all(answer.done() for answer in fresh._answers))


@pytest.mark.usefixtures("impatient")
def test_pages_name_a_missing_worker_and_loop_until_they_are_there() -> None:
    alice = Someone("alice")

    until(lambda: "celery -A console.celery worker" in alice.page("/tools/"))
    assert "python manage.py engine" in alice.page("/connect/")
    assert "No worker is up." in alice.page("/trouble/")

    workers.beat("w1", slots=1, draining=False)
    loops.beat("loop")
    until(lambda: 'aria-label="Trouble"' not in alice.page("/tools/"))


@pytest.mark.usefixtures("impatient")
def test_loop_that_stopped_is_missed_at_once() -> None:
    alice = Someone("alice")
    workers.beat("w1", slots=1, draining=False)
    loops.beat("loop")
    until(lambda: 'aria-label="Trouble"' not in alice.page("/trouble/"))

    loops.leave("loop")

    until(lambda: "The engine loop does not run." in alice.page("/trouble/"))


def test_page_that_answers_a_form_reads_only_the_strip_again(db: None) -> None:
    alice = Someone("alice")

    made = alice.browser.post("/connect/tokens/", {"name": "laptop", "kind": "all"}).content.decode()

    assert 'data-address="/trouble/"' in made
    assert "data-address" not in alice.page("/connect/")
