"""The policy in force: what it does to a task from its creation to its purge, its versions, and trying it out."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.utils import IntegrityError
from django.test.utils import CaptureQueriesContext

from tasks_app import store
from tasks_app.domain.errors import NotAllowed, NotFound, StorageUnavailable
from tasks_app.domain.identity import Actor, OwnerKind
from tasks_app.domain.policy import InvalidPolicy, Policy, Rule
from tasks_app.models import Event, Expiration, PolicyVersion, Task
from tasks_app.store import batches, chain, expiry, policy, queries
from tasks_app.store.db import run
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    again,
    asking,
    claimed,
    completed,
    created,
    gated,
    kinds,
    last_event,
    look,
    scalar,
    sql,
    together,
)

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def set_policy(*rules: Rule) -> Policy:
    """These rules from now on."""
    by = Actor.system(via="test", reason="a test")
    return policy.save(rules, base=policy.newest().version, by=by)


def manage(*arguments: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command("policy", *arguments, stdout=out)
    return out.getvalue()


def test_lifetime_comes_from_the_rule_of_tool_and_owner(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    """check 87, check 88."""
    now = clock.advance(timedelta(0))
    set_policy(Rule(tool="deploy*", default_ttl=7200, max_ttl=10_800), Rule(owner_id=bo.id, default_ttl=60))

    ends = {
        "default": created(alice, tool="deploy_web").expires_at - now,
        "clamped": created(alice, tool="deploy_web", ttl_ms=86_400_000).expires_at - now,
        "null": created(alice, tool="deploy_web", ttl_ms=None).expires_at - now,
        "other tool": created(alice, tool="echo").expires_at - now,
        "other owner": created(bo, tool="deploy_web").expires_at - now,
    }

    assert ends == {
        "default": 2 * HOUR,
        "clamped": 3 * HOUR,
        "null": 3 * HOUR,
        "other tool": HOUR,
        "other owner": timedelta(minutes=1),
    }


def test_many_at_once_are_created_under_the_policy_too(alice: Person, clock: DatabaseClock) -> None:
    now = clock.advance(timedelta(0))
    set_policy(Rule(tool="deploy", default_ttl=7200), Rule(tool="kept", hold=True))
    calls = [store.NewTask(owner_id=alice.id, tool=tool) for tool in ("deploy", "echo", "kept")]

    made = run(batches.create_many(calls))

    tasks = [each.task for each in made if isinstance(each, store.Created)]
    assert [(task.expires_at - now, task.held) for task in tasks] == [(2 * HOUR, False), (HOUR, False), (HOUR, True)]
    assert set(Task.objects.values_list("policy_version", flat=True)) == {1}


def test_create_needs_no_query_for_the_policy(alice: Person) -> None:
    set_policy(Rule(tool="echo", default_ttl=7200))

    with CaptureQueriesContext(connection) as first:
        created(alice)
    with CaptureQueriesContext(connection) as settled:
        store.complete(again(), result={"content": []})

    assert [len(first), len(settled)] == [1, 2]  # the claim is a statement of its own


def test_process_reads_the_policy_again_when_it_is_old(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    policy.forget()
    created(alice)
    sql(
        'INSERT INTO tasks_policyversion (version, rules, author) VALUES (1, \'[{"tool":"echo","hold":true}]\', \'{}\')'
    )
    remembered = created(alice).held
    monkeypatch.setattr(policy._cache, "good_until", 0.0)

    with CaptureQueriesContext(connection) as queries_run:
        renewed = created(alice).held

    assert (remembered, renewed, len(queries_run)) == (False, True, 2)


def test_question_stays_open_as_long_as_the_policy_says(alice: Person, clock: DatabaseClock) -> None:
    now = clock.advance(timedelta(0))
    set_policy(Rule(question_ttl=2 * 86_400))

    task_id, gate = asking(alice), gated(alice)

    assert [q.expires_at for t in (task_id, gate) for q in queries.questions(t)] == [now + 2 * DAY] * 2
    assert [look(t).expires_at for t in (task_id, gate)] == [now + 2 * DAY + HOUR] * 2


def test_outcome_stays_readable_as_long_as_the_policy_says(alice: Person, clock: DatabaseClock) -> None:
    """Whatever the end was."""
    now = clock.advance(timedelta(0))
    set_policy(Rule(minimum_retention=4 * 3600))

    done, cancelled = completed(alice), created(alice).id
    store.cancel(cancelled, owner_id=alice.id, by=alice.acts())
    failed = claimed(alice)
    store.fail(failed, error={"code": -32000, "message": "no"})

    assert {look(each).expires_at - now for each in (done, cancelled, failed.task_id)} == {4 * HOUR}


def test_purge_follows_the_rule_of_each_task(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    set_policy(
        Rule(tool="short", purge_after=3600),
        Rule(tool="long", purge_after=90 * 86_400),
        Rule(tool="*", owner_id=bo.id, purge_after=3600),
    )
    tasks = {name: completed(who, tool=tool) for name, who, tool in [
        ("short", alice, "short"), ("long", alice, "long"), ("plain", alice, "echo"), ("bo", bo, "long")]}  # fmt: skip
    clock.advance(DAY)
    assert store.expire() == 4
    clock.advance(2 * HOUR)
    soon = store.purge()
    left = set(Task.objects.values_list("id", flat=True))
    clock.advance(8 * DAY)
    later = store.purge()

    assert (soon, left) == (2, {tasks["long"], tasks["plain"]})
    assert (later, list(Task.objects.values_list("id", flat=True))) == (1, [tasks["long"]])
    clock.advance(90 * DAY)
    assert store.purge() == 1


def test_times_may_be_whole_numbers_and_broken_ones(alice: Person, clock: DatabaseClock) -> None:
    rules = [Rule(tool="echo", purge_after=3600), Rule(tool="b", owner_id=alice.id, purge_after=0.5)]
    set_policy(*rules, Rule(tool="c", hold=True))
    completed(alice)
    clock.advance(2 * HOUR)

    assert (store.expire(), policy.dry_run(rules).touched) == (1, 0)
    clock.advance(2 * HOUR)
    assert store.purge() == 1


def test_task_and_record_name_the_version_that_counted(alice: Person, clock: DatabaseClock) -> None:
    before = completed(alice)
    set_policy(Rule(tool="other", hold=True))
    claim = claimed(alice)
    set_policy(Rule(tool="another", hold=True))
    store.complete(claim, result={"content": []})
    waiting = created(alice).id
    clock.advance(DAY)
    store.expire()

    said = {
        task_id: Expiration.objects.get(task_id=task_id).policy_version for task_id in (before, claim.task_id, waiting)
    }

    assert said == {before: 0, claim.task_id: 2, waiting: 2}


def test_task_under_a_hold_of_the_policy_neither_expires_nor_leaves(alice: Person, clock: DatabaseClock) -> None:
    old = completed(alice)
    expired = completed(alice, tool="sweep")
    clock.advance(2 * HOUR)
    early = created(alice, ttl_ms=2000).id
    assert store.expire() == 2
    set_policy(Rule(tool="*", hold=True))
    late = created(alice).id
    clock.advance(timedelta(seconds=1))
    sweeps = [store.expire()]
    clock.advance(400 * DAY)

    sweeps += [store.expire(), store.purge()]

    assert sweeps == [0, 0, 0]
    assert set(Task.objects.values_list("id", flat=True)) == {old, expired, early, late}
    assert (look(early).held, look(late).held) == (True, True)
    assert last_event(early, "held").actor == last_event(late, "held").actor
    assert last_event(late, "held").actor == {"kind": "engine", "via": "policy", "reason": "policy version 1"}
    assert kinds(late) == ["created", "held"]


def test_hold_that_is_taken_from_the_policy_ends_and_that_of_a_person_stays(
    alice: Person, bo: Person, clock: DatabaseClock
) -> None:
    by_policy = created(alice).id
    set_policy(Rule(tool="*", hold=True))
    from_birth = created(alice).id
    by_person = created(alice).id
    store.hold(by_person, held=False, owner_id=None, by=bo.operates())
    store.hold(by_person, held=True, owner_id=None, by=bo.operates(reason="case 7"))
    clock.advance(HOUR - timedelta(seconds=30))
    store.expire()
    assert look(by_policy).held
    set_policy(Rule(tool="none", hold=True))
    clock.advance(HOUR)

    assert store.expire() == 2

    assert look(by_person).held
    for gone in (by_policy, from_birth):
        with pytest.raises(NotFound):
            look(gone)
    assert [kind for kind in kinds(by_policy) if "h" in kind] == ["held", "hold_lifted"]


def test_versions_are_never_changed(db: None) -> None:
    set_policy(Rule(tool="a", hold=True))

    for text in ("UPDATE tasks_policyversion SET rules = '[]'", "DELETE FROM tasks_policyversion"):
        with pytest.raises(IntegrityError), transaction.atomic():
            sql(text)


def test_every_version_is_kept_with_its_author_and_is_an_event(bo: Person, clock: DatabaseClock) -> None:
    now = clock.advance(timedelta(0))
    policy.save([Rule(tool="a", hold=True)], base=0, by=bo.operates(reason="case 7"))
    policy.save([Rule(tool="a", purge_after=60)], base=1, by=bo.operates(reason="case closed"))

    two, one = policy.versions()

    assert (one.policy.version, one.author["reason"], one.effective_from) == (1, "case 7", now)
    assert (two.policy.rules, two.author["id"]) == ((Rule(tool="a", purge_after=60),), bo.id)
    details = list(Event.objects.filter(kind="policy").order_by("id").values_list("detail", flat=True))
    assert [(detail["version"], detail["changes"], len(detail["sha256"])) for detail in details] == [
        (1, 1, 64),
        (2, 2, 64),
    ]
    found = policy.version(1)
    assert found is not None
    assert found.policy.rules == one.policy.rules
    assert policy.version(9) is None


def test_save_on_an_old_base_or_without_a_reason_or_change_is_refused(bo: Person) -> None:
    set_policy(Rule(tool="a", hold=True))

    with pytest.raises(NotAllowed, match="Version 1 was saved in the meantime"):
        policy.save([], base=0, by=bo.operates())
    with pytest.raises(NotAllowed, match="Nothing would change"):
        policy.save([Rule(tool="a", hold=True)], base=1, by=bo.operates())
    with pytest.raises(NotAllowed, match="reason"):
        policy.save([], base=1, by=bo.operates(reason=" "))
    with pytest.raises(InvalidPolicy):
        policy.save([Rule(tool="a")], base=1, by=bo.operates())
    assert PolicyVersion.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_who_save_at_once_one_is_told() -> None:
    def save(tool: str) -> int:
        by = Actor.system(via="test", reason="race")
        return policy.save([Rule(tool=tool, hold=True)], base=0, by=by).version

    told = together(lambda: save("a"), lambda: save("b"))

    assert sorted(type(each).__name__ for each in told) == ["NotAllowed", "int"]
    assert PolicyVersion.objects.count() == 1


def test_dry_run_counts_and_changes_nothing(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    for tool in ("echo", "echo", "deploy"):
        completed(alice, tool=tool)
    created(bo, tool="deploy")
    clock.advance(2 * HOUR)
    store.expire()
    clock.advance(2 * HOUR)
    rows_before = sql("SELECT id, version, held FROM tasks_task ORDER BY id")

    found = policy.dry_run([Rule(tool="echo", purge_after=3600), Rule(tool="deploy", owner_id=alice.id, hold=True)])
    nothing = policy.dry_run([])

    assert (found.touched, found.purged, found.held, found.released) == (3, 2, 1, 0)
    assert nothing == policy.DryRun(0, 0, 0, 0, 0)
    assert sql("SELECT id, version, held FROM tasks_task ORDER BY id") == rows_before
    assert scalar("SELECT count(*) FROM tasks_policyversion") == 0


def test_dry_run_counts_what_goes_although_as_much_stays(alice: Person, clock: DatabaseClock) -> None:
    """What one rule would take is not made up for by what another would keep."""
    for tool in ("a", "b"):
        completed(alice, tool=tool)
    clock.advance(2 * HOUR)
    store.expire()
    set_policy(Rule(tool="a", purge_after=60))
    clock.advance(HOUR)

    found = policy.dry_run([Rule(tool="a", purge_after=86_400), Rule(tool="b", purge_after=60)])

    assert found.purged == 1


def test_dry_run_tells_what_a_shorter_record_retention_takes_and_a_lifted_hold_releases(
    alice: Person, clock: DatabaseClock
) -> None:
    set_policy(Rule(tool="*", hold=True))
    created(alice)
    clock.advance(2 * DAY)
    chain.seal()

    found = policy.dry_run([Rule(tool="*", record_retention=86_400)])

    # The creation, the hold that came with it, and the entry about the policy itself.
    assert (found.released, found.held, found.retired) == (1, 0, 3)


def test_command_sets_shows_and_compares(alice: Person) -> None:
    said = manage("set", "--tool", "deploy*", "--owner", "alice", "--purge-after", "30d", "--reason", "asked by legal")
    manage("set", "--tool", "deploy*", "--owner", "alice", "--hold", "on", "--reason", "case 7")
    shown, compared = manage("show"), manage("diff")
    first = manage("show", "1")

    assert "deploy* of alice: Purge after: as the settings say -> 30 d" in said
    assert "Saved as version 1; every process follows within 5 s." in said
    assert "deploy* of alice: default ttl 1 h, maximum ttl 1 d, question ttl 7 d" in shown
    assert "purge after 30 d, record retention 1 y, legal hold" in shown
    assert "system policy: asked by legal" in shown
    assert compared == "From version 1 to version 2:\n  deploy* of alice: Legal hold: as the settings say -> yes\n"
    assert "legal hold" not in first.splitlines()[1]


def test_command_removes_a_rule_and_takes_a_file(db: None, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps([{"tool": "a", "hold": True}, {"tool": "b", "purge_after": 60}]))

    manage("set", "--file", str(file), "--reason", "a file")
    manage("set", "--tool", "a", "--remove", "--reason", "over")
    manage("set", "--tool", "b", "--purge-after", "settings", "--max-ttl", "2d", "--reason", "longer")

    assert policy.newest().rules == (Rule(tool="b", max_ttl=172_800),)


def test_command_tries_out(alice: Person, clock: DatabaseClock) -> None:
    completed(alice)
    clock.advance(2 * HOUR)
    store.expire()
    clock.advance(2 * HOUR)

    said = manage("dry-run", "--purge-after", "1h")

    assert said == (
        "  Every tool: Purge after: as the settings say -> 1 h\n"
        "1 tasks would be touched, 1 purged by the next sweep, 0 held, 0 released, 0 events would leave the log.\n"
    )
    assert policy.newest().version == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["set", "--tool", "a", "--reason", "x"], "changes nothing"),
        (["set", "--tool", "a", "--purge-after", "soon", "--reason", "x"], "write a time"),
        (["set", "--owner", "nobody", "--hold", "on", "--reason", "x"], "No owner goes by the name"),
        (["dry-run", "--file", "missing.json"], "cannot be read"),
        (["show", "7"], "There is no version 7"),
        (["set", "--tool", "a", "--default-ttl", "2d", "--reason", "x"], "above the maximum"),
    ],
)
def test_command_refuses_with_one_line(db: None, arguments: list[str], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        manage(*arguments)


@pytest.mark.django_db(transaction=True)
def test_sweeps_under_a_policy_pass_over_what_another_holds(clock: DatabaseClock) -> None:
    """check 97: any number of loops at once; what one sweep leaves, the next one takes."""
    owner = store.find_or_make_owner(OwnerKind.USER, subject="alice")
    set_policy(Rule(tool="echo", purge_after=60), Rule(tool="kept", hold=True))
    for _ in range(5):
        completed(Person(owner, "alice"))
    clock.advance(DAY)
    store.expire()
    later = (clock.now() + DAY).isoformat()

    def sweep() -> int:
        sql("SELECT set_config('tasks.fake_now', %(at)s, false)", at=later)
        return store.purge()

    with transaction.atomic():
        first = Task.objects.order_by("expired_at", "id").values_list("id", flat=True)[0]
        Task.objects.select_for_update().get(pk=first)
        swept = together(sweep, sweep)

    assert sum(swept) == 4
    assert sweep() == 1


def test_fault_of_the_policys_hold_stops_no_expiry_and_expires_nothing_that_it_keeps(
    alice: Person, clock: DatabaseClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept, other = created(alice, tool="keep").id, created(alice, tool="drop").id
    set_policy(Rule(tool="keep", hold=True))
    clock.advance(2 * HOUR)

    def fault() -> int:
        raise StorageUnavailable

    with monkeypatch.context() as broken:
        broken.setattr(expiry, "hold_by_policy", fault)
        expired = store.expire()
    after = store.expire()

    assert (expired, after) == (1, 0)
    assert "could not be held" in caplog.text
    assert look(kept).held
    assert "expired" in kinds(other)
