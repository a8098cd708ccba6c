"""The one table of who may do what, and what follows from it: scope, guard and actor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from console.access import GROUPS, TABLE, Action, Principal, Role, actor_for, principal_of, require
from tasks_app.domain.errors import NotAllowed, NotFound
from tasks_app.domain.identity import ActorKind

OWNER, OPERATOR, AUDITOR, ADMIN = Role.OWNER, Role.OPERATOR, Role.AUDITOR, Role.ADMIN

# Action, who may do it to their own, who may do it to anyone's: as people are told it, written out once more.
EXPECTED = [
    (Action.VIEW, {OWNER, OPERATOR, AUDITOR, ADMIN}, {OPERATOR, AUDITOR, ADMIN}),
    (Action.RUN, {OWNER, OPERATOR, AUDITOR, ADMIN}, set()),
    (Action.ANSWER, {OWNER, OPERATOR, AUDITOR, ADMIN}, {OPERATOR, ADMIN}),
    (Action.APPROVE, {OPERATOR, ADMIN}, {OPERATOR, ADMIN}),
    (Action.CANCEL, {OWNER, OPERATOR, AUDITOR, ADMIN}, {OPERATOR, ADMIN}),
    (Action.EXTEND, {OWNER, OPERATOR, AUDITOR, ADMIN}, {OPERATOR, ADMIN}),
    (Action.HOLD, {ADMIN}, {ADMIN}),
    (Action.EXPORT, {OWNER, OPERATOR, AUDITOR, ADMIN}, {OPERATOR, AUDITOR, ADMIN}),
    (Action.AUDIT, {OWNER, OPERATOR, AUDITOR, ADMIN}, {AUDITOR, ADMIN}),
    (Action.TOKENS, {OWNER, OPERATOR, AUDITOR, ADMIN}, {ADMIN}),
    (Action.REVOKE, {OWNER, OPERATOR, AUDITOR, ADMIN}, {ADMIN}),
    (Action.SHARE_VIEWS, {OPERATOR, ADMIN}, {OPERATOR, ADMIN}),
    (Action.POLICY, {ADMIN}, {ADMIN}),
    (Action.WEBHOOKS, {ADMIN}, {ADMIN}),
]


def account(name: str, *roles: Role) -> User:
    user = User.objects.create_user(name)
    for role in roles:
        user.groups.add(Group.objects.get_or_create(name=role.value)[0])
    return user


def holding(*roles: Role, owner_id: int = 1) -> Principal:
    return Principal(User(username="someone"), owner_id, frozenset({OWNER, *roles}))


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(("action", "own", "anyones"), EXPECTED)
def test_action_is_allowed_to_exactly_the_roles_of_the_table(
    action: Action, own: set[Role], anyones: set[Role], role: Role
) -> None:
    principal = holding(role)

    assert principal.may(action) is (role in own)
    assert principal.may(action, everyone=True) is (role in anyones)


def test_every_action_is_in_the_table() -> None:
    assert set(TABLE) == set(Action) == {action for action, _, _ in EXPECTED}


def test_action_on_a_task_depends_on_whose_it_is() -> None:
    principal = holding(AUDITOR, owner_id=7)

    assert principal.may_on(Action.CANCEL, task_owner_id=7)
    assert not principal.may_on(Action.CANCEL, task_owner_id=8)


@pytest.mark.parametrize("role", [OPERATOR, AUDITOR, ADMIN])
def test_scope_is_everyone_only_when_wanted_and_allowed(role: Role) -> None:
    assert holding(role, owner_id=7).scope(everyone=True) is None
    assert holding(role, owner_id=7).scope(everyone=False) == 7
    assert holding(owner_id=7).scope(everyone=True) == 7


def test_scope_of_a_write_is_narrower_than_that_of_a_read() -> None:
    auditor = holding(AUDITOR, owner_id=7)

    assert auditor.scope(everyone=True) is None
    assert auditor.scope(everyone=True, action=Action.CANCEL) == 7


def test_principal_of_an_account_without_groups_is_an_owner(db: None) -> None:
    user = account("ana")

    principal = principal_of(user)

    assert principal.roles == {OWNER}
    assert principal.owner_id == principal_of(user).owner_id


def test_principal_of_two_accounts_is_two_owners(db: None) -> None:
    assert principal_of(account("ana")).owner_id != principal_of(account("bo")).owner_id


@pytest.mark.parametrize("role", GROUPS)
def test_principal_has_the_role_of_its_group(db: None, role: Role) -> None:
    assert principal_of(account("bo", role)).roles == {OWNER, role}


def test_principal_of_a_superuser_is_an_admin(db: None) -> None:
    assert principal_of(User.objects.create_superuser("root")).roles == {OWNER, ADMIN}


def test_principal_gets_nothing_from_a_group_that_is_no_role(db: None) -> None:
    user = account("ana")
    user.groups.add(Group.objects.create(name="owner"), Group.objects.create(name="Admin"))

    assert principal_of(user).roles == {OWNER}


def test_role_counts_at_once_when_it_is_given_or_taken(db: None) -> None:
    user = account("bo", OPERATOR)
    assert OPERATOR in principal_of(user).roles

    User.objects.get(pk=user.pk).groups.clear()

    assert principal_of(user).roles == {OWNER}


def test_principal_is_refused_once_the_account_is_not_active(db: None) -> None:
    user = account("bo", ADMIN)
    User.objects.filter(pk=user.pk).update(is_active=False)

    with pytest.raises(PermissionDenied):
        principal_of(user)


def test_principal_is_refused_without_an_account() -> None:
    with pytest.raises(PermissionDenied):
        principal_of(AnonymousUser())


def guarded_by(action: Action, *, everyone: bool = False) -> Callable[[HttpRequest], object]:
    @require(action, everyone=everyone)
    def view(request: HttpRequest, principal: Principal) -> HttpResponse:
        return HttpResponse(principal.user.username)

    return view


def request_by(user: User) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = user
    return request


def test_guard_lets_an_allowed_account_through_and_names_it(db: None) -> None:
    response = guarded_by(Action.POLICY)(request_by(account("root", ADMIN)))

    assert isinstance(response, HttpResponse)
    assert response.content == b"root"


@pytest.mark.parametrize("role", [OPERATOR, AUDITOR])
def test_guard_refuses_an_account_without_the_role(db: None, role: Role) -> None:
    with pytest.raises(PermissionDenied):
        guarded_by(Action.POLICY)(request_by(account("bo", role)))


def test_guard_for_everyones_refuses_a_mere_owner(db: None) -> None:
    with pytest.raises(PermissionDenied):
        guarded_by(Action.VIEW, everyone=True)(request_by(account("ana")))


def test_guard_for_an_action_that_is_not_in_the_table_is_an_error_at_once() -> None:
    with pytest.raises(LookupError, match="fly"):
        require("fly")  # type: ignore[arg-type]


def test_guard_tells_which_action_it_guards() -> None:
    assert guarded_by(Action.HOLD).action is Action.HOLD  # type: ignore[attr-defined]


def test_actor_on_ones_own_task_is_the_owner_and_needs_no_reason() -> None:
    actor = actor_for(holding(OPERATOR, owner_id=7), task_owner_id=7)

    assert (actor.kind, actor.id, actor.via, actor.request) == (ActorKind.OWNER, 7, "console", None)


@pytest.mark.parametrize(
    ("roles", "kind"),
    [((OPERATOR,), ActorKind.OPERATOR), ((ADMIN,), ActorKind.ADMIN), ((OPERATOR, ADMIN), ActorKind.ADMIN)],
)
def test_actor_on_anothers_task_is_the_role_with_its_reason(roles: tuple[Role, ...], kind: ActorKind) -> None:
    actor = actor_for(holding(*roles, owner_id=7), task_owner_id=8, reason="on call")

    assert (actor.kind, actor.id, actor.role, actor.reason) == (kind, 7, kind.value, "on call")


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_actor_on_anothers_task_without_a_reason_is_refused(reason: str | None) -> None:
    with pytest.raises(NotAllowed, match="reason"):
        actor_for(holding(OPERATOR, owner_id=7), task_owner_id=8, reason=reason)


@pytest.mark.parametrize("roles", [(), (AUDITOR,)])
def test_actor_on_anothers_task_without_a_role_finds_no_task(roles: tuple[Role, ...]) -> None:
    with pytest.raises(NotFound):
        actor_for(holding(*roles, owner_id=7), task_owner_id=8, reason="curious")


def test_actor_may_act_as_an_operator_on_their_own_task() -> None:
    actor = actor_for(holding(OPERATOR, owner_id=7), task_owner_id=7, as_operator=True)

    assert actor.kind is ActorKind.OPERATOR


def test_migration_makes_the_groups_and_takes_them_away_again(db: None) -> None:
    names = {role.value for role in GROUPS}

    call_command("migrate", "console", "zero", verbosity=0)
    without = set(Group.objects.filter(name__in=names).values_list("name", flat=True))
    call_command("migrate", "console", verbosity=0)

    assert without == set()
    assert set(Group.objects.filter(name__in=names).values_list("name", flat=True)) == names
