"""What callers are told when the database refuses or cannot: the domain's words; a fault of ours stays a fault."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, OperationalError, ProgrammingError, transaction

from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification, MissingActor, StorageUnavailable
from tasks_app.store.db import rows, translate
from tests.conftest import Person
from tests.tasks_app.store.life import created, locked_elsewhere, look


def raising(state: str) -> str:
    """A statement that fails with this state."""
    return f"DO $$ BEGIN RAISE EXCEPTION 'as the database said' USING ERRCODE = '{state}'; END $$"


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["53100", "53200", "53300", "57014", "57P01", "58030", "25P03", "08006"])
def test_database_that_is_full_or_gone_is_unavailable_storage(state: str) -> None:
    """check 98, check 100: StorageFull."""
    with pytest.raises(StorageUnavailable) as refused, transaction.atomic():
        rows(raising(state))

    assert refused.value.reason == "storage"
    assert "as the database said" not in str(refused.value)


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["40001", "40P01", "55P03"])
def test_lost_race_is_a_concurrent_modification(state: str) -> None:
    """check 98, check 100: ConcurrentModification."""
    with pytest.raises(ConcurrentModification), transaction.atomic():
        rows(raising(state))


@pytest.mark.django_db
def test_missing_actor_has_its_own_word() -> None:
    with pytest.raises(MissingActor), transaction.atomic():
        rows(raising("TD001"))


@pytest.mark.django_db
def test_statement_that_runs_too_long_is_unavailable_storage() -> None:
    """check 100."""
    rows("SET LOCAL statement_timeout = '20ms'")

    with pytest.raises(StorageUnavailable), transaction.atomic():
        rows("SELECT pg_sleep(5)")

    rows("SET LOCAL statement_timeout = '5s'")


@pytest.mark.django_db
def test_fault_of_ours_stays_what_it_is() -> None:
    with pytest.raises(ProgrammingError), transaction.atomic():
        rows("SELECT no_such_column FROM tasks_task")
    with pytest.raises(IntegrityError), transaction.atomic():
        rows(raising("23505"))


def test_connection_that_broke_is_unavailable_storage() -> None:
    """check 98."""
    assert isinstance(translate(OperationalError("server closed the connection")), StorageUnavailable)


@pytest.mark.django_db(transaction=True)
def test_task_that_somebody_else_holds_too_long_is_a_concurrent_modification(alice: Person) -> None:
    """check 100: ConcurrentModification, here by the time-out of the lock."""
    task = created(alice)

    def cancel_without_patience() -> None:
        with transaction.atomic():
            rows("SET LOCAL lock_timeout = '50ms'")
            store.cancel(task.id, owner_id=alice.id, by=alice.acts())

    with locked_elsewhere(task.id), pytest.raises(ConcurrentModification):
        cancel_without_patience()

    assert look(task.id).version == task.version
