"""The commands of the engine: check_invariants, expire, purge, seed; and the line that shows how far they are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.management.progress import Progress
from tasks_app.models import Attempt, Event, Expiration, Owner, Question, Task
from tasks_app.store import NewTask
from tests.conftest import DatabaseClock, Person


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def make(owner: Person, *, ttl: timedelta) -> store.Snapshot:
    ttl_ms = round(ttl.total_seconds() * 1000)
    return store.create(NewTask(owner_id=owner.id, tool="sum", ttl_ms=ttl_ms)).task


def test_expire_counts_what_it_expired_and_nothing_the_second_time(alice: Person, clock: DatabaseClock) -> None:
    """check 64: five expired and three live: five; the second run: none."""
    for _ in range(5):
        make(alice, ttl=timedelta(minutes=1))
    for _ in range(3):
        make(alice, ttl=timedelta(hours=5))
    clock.advance(timedelta(hours=1))

    first, second = run("expire"), run("expire")

    assert first == "Expired 5 tasks.\n"
    assert second == "Expired 0 tasks.\n"
    assert Expiration.objects.count() == 5
    assert Task.objects.filter(expired_at=None).count() == 3


def test_expire_goes_on_until_nothing_is_left_of_many_batches(
    alice: Person, clock: DatabaseClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """check 97."""
    monkeypatch.setattr(store.expiry, "_DUE", store.expiry._DUE.replace(f"LIMIT {store.expiry.BATCH}", "LIMIT 2"))
    for _ in range(5):
        make(alice, ttl=timedelta(minutes=1))
    clock.advance(timedelta(hours=1))

    said = run("expire")

    assert said == "Expired 5 tasks.\n"


def test_expire_names_the_command_as_the_actor(alice: Person, clock: DatabaseClock) -> None:
    task = make(alice, ttl=timedelta(minutes=1))
    clock.advance(timedelta(hours=1))

    run("expire")

    assert Event.objects.get(task_id=task.id, kind="expired").actor == {"kind": "system", "via": "expire"}


def test_purge_deletes_what_is_past_its_retention_and_keeps_the_record(
    alice: Person, clock: DatabaseClock, check_invariants: Callable[[], None]
) -> None:
    """check 97."""
    task = make(alice, ttl=timedelta(minutes=1))
    clock.advance(timedelta(hours=1))
    run("expire")
    kept = make(alice, ttl=timedelta(minutes=1))

    early = run("purge")
    clock.advance(timedelta(seconds=conf().purge_after + 1))
    first, second = run("purge"), run("purge")

    assert (early, first, second) == ("Purged 0 tasks.\n", "Purged 1 task.\n", "Purged 0 tasks.\n")
    assert list(Task.objects.values_list("id", flat=True)) == [kept.id]
    assert Expiration.objects.filter(task_id=task.id).exists()
    check_invariants()


def test_check_invariants_names_each_and_says_that_all_hold(alice: Person) -> None:
    make(alice, ttl=timedelta(minutes=1))

    said = run("check_invariants")

    assert "ok      the tally adds up to the tasks\n" in said
    assert "broken" not in said
    assert said.endswith(f"All {len(store.invariants.INVARIANTS)} invariants hold.\n")


def test_check_invariants_ends_with_one_and_names_what_is_broken(alice: Person) -> None:
    task = make(alice, ttl=timedelta(minutes=1))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_task SET attempt = 1 WHERE id = %s", [task.id])
    out, err = StringIO(), StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("check_invariants", stdout=out, stderr=err)

    assert ended.value.code == 1
    assert f"broken  attempts are numbered from one without a gap: {task.id}\n" in out.getvalue()
    assert err.getvalue() == f"1 of {len(store.invariants.INVARIANTS)} invariants are broken.\n"


def test_seed_loads_tasks_for_which_everything_holds(db: None, check_invariants: Callable[[], None]) -> None:
    said = run("seed", "--tasks", "1200", "--owners", "4", "--seed", "7")

    assert said == "Loaded 1200 tasks of 4 owners (--seed 7).\n"
    assert Task.objects.count() == 1200
    assert set(Owner.objects.values_list("subject", flat=True)) == {"seed-1", "seed-2", "seed-3", "seed-4"}
    check_invariants()


def test_seed_loads_a_bit_of_everything(db: None) -> None:
    run("seed", "--tasks", "1500", "--seed", "7")

    by_outcome = Counter(Task.objects.values_list("outcome", flat=True))
    assert by_outcome["result"] > 1000
    assert min(by_outcome[kind] for kind in ("tool_error", "rpc_error", "cancelled", None)) > 20
    assert Task.objects.filter(wake_at__isnull=False).exists()
    assert Task.objects.filter(active_attempt__isnull=False).exists()
    assert Expiration.objects.exists()
    assert Attempt.objects.filter(number=2).exists()
    assert set(Question.objects.values_list("state", "audience")) >= {
        ("open", "owner"), ("open", "operator"), ("answered", "owner"),
    }  # fmt: skip
    assert Task.objects.values("tool").distinct().count() > 5
    ages = Task.objects.order_by("created_at").values_list("created_at", flat=True)
    assert ages[len(ages) - 1] - ages[0] > timedelta(hours=24)


def test_seed_keeps_every_owner_within_the_quota(db: None) -> None:
    run("seed", "--tasks", "3000", "--owners", "1", "--seed", "7")

    live = Task.objects.filter(finished_at=None)
    assert conf().live_tasks - 10 <= live.count() <= conf().live_tasks
    assert max(live.values_list("slot", flat=True)) <= conf().live_tasks


def test_seed_leaves_the_clock_and_the_actor_alone(db: None) -> None:
    run("seed", "--tasks", "10", "--seed", "7")

    with connection.cursor() as cursor:
        cursor.execute("SELECT abs(extract(epoch FROM tasks_now() - clock_timestamp())) < 5")
        assert cursor.fetchone() == (True,)


def test_seed_with_the_same_number_gives_the_same_tasks_and_refuses_to_load_them_twice(db: None) -> None:
    run("seed", "--tasks", "20", "--seed", "7")
    before = set(Task.objects.values_list("id", "tool", "status"))

    with pytest.raises(CommandError, match="--seed 7 are here already"):
        run("seed", "--tasks", "20", "--seed", "7")
    run("seed", "--tasks", "20", "--seed", "8")

    assert len(before) == 20
    assert Task.objects.count() == 40


@pytest.mark.parametrize("arguments", [("--tasks", "0"), ("--tasks", "5", "--owners", "0")])
def test_seed_refuses_to_load_nothing(db: None, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="at least one"):
        run("seed", *arguments)


class Terminal:
    """A screen that remembers what was written."""

    def __init__(self, *, watched: bool) -> None:
        self.watched = watched
        self.text = ""

    def write(self, text: str, /, *, ending: str | None = None) -> None:
        self.text += text

    def isatty(self) -> bool:
        return self.watched

    def flush(self) -> None:
        pass


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the clock by which progress is drawn."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def pass_seconds(seconds: float) -> None:
        now[0] += seconds

    return pass_seconds


def test_progress_is_a_bar_that_goes_away_at_the_end(hours: Callable[[float], None]) -> None:
    screen = Terminal(watched=True)

    with Progress(screen, "Seeding", total=4000) as progress:
        hours(1)
        progress.show(1000)
        shown = screen.text

    assert shown == "\r\x1b[KSeeding ████████░░░░░░░░░░░░░░░░░░░░░░  25% 1,000 of 4,000"
    assert screen.text == shown + "\r\x1b[K"


def test_progress_is_a_count_when_nobody_knows_how_much_there_is(hours: Callable[[float], None]) -> None:
    screen = Terminal(watched=True)

    with Progress(screen, "Purging") as progress:
        hours(1)
        progress.show(1500)
        shown = screen.text

    assert shown == "\r\x1b[KPurging 1,500"


def test_progress_is_not_drawn_too_often(hours: Callable[[float], None]) -> None:
    screen = Terminal(watched=True)

    with Progress(screen, "Purging") as progress:
        hours(1)
        progress.show(1)
        progress.show(2)
        shown = screen.text

    assert shown == "\r\x1b[KPurging 1"


def test_progress_of_short_work_is_never_shown(hours: Callable[[float], None]) -> None:
    screen = Terminal(watched=True)

    with Progress(screen, "Purging") as progress:
        hours(0.1)
        progress.show(5)

    assert screen.text == ""


def test_progress_is_not_shown_where_nobody_watches(hours: Callable[[float], None]) -> None:
    screen = Terminal(watched=False)

    with Progress(screen, "Purging") as progress:
        hours(10)
        progress.show(5)

    assert screen.text == ""
