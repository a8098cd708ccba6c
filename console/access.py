"""Who may do what in the console: one table from action to role, and the scope of what somebody sees.

Every active account is an owner; membership in the groups `operator`, `auditor` and `admin` adds a role. Nothing is
cached: a role that is given or taken counts from the next question on. What a task allows is the store's to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from console import request_ids
from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.store.locking import require_reason

P = ParamSpec("P")
VIA = "console"


class Role(StrEnum):
    """In what capacity somebody uses the console."""

    OWNER = "owner"
    """Every active account, for what is its own."""

    OPERATOR = "operator"
    """Acts for other owners, with a reason."""

    AUDITOR = "auditor"
    """Reads everything, changes nothing of others."""

    ADMIN = "admin"
    """Decides policy, and who has which role."""


GROUPS = (Role.OPERATOR, Role.AUDITOR, Role.ADMIN)
"""The roles that are given by putting an account into the group of that name."""


class Action(StrEnum):
    """What can be done in the console. A view that is not guarded by one of these does not exist."""

    VIEW = "view"
    """See tasks, what they ask, and what expired."""

    RUN = "run"
    """Run a tool as oneself."""

    ANSWER = "answer"
    """Answer what a task asks."""

    APPROVE = "approve"
    """Decide whether a task that needs an operator's approval may start."""

    CANCEL = "cancel"
    """End a task."""

    EXTEND = "extend"
    """Keep a task for longer."""

    HOLD = "hold"
    """Put a legal hold on a task, or lift it."""

    EXPORT = "export"
    """Take what is on screen away as a file."""

    AUDIT = "audit"
    """Read the audit log."""

    TOKENS = "tokens"
    """Make tokens and see them."""

    REVOKE = "revoke"
    """Make a token worthless."""

    SHARE_VIEWS = "share_views"
    """Save a search for everyone."""

    POLICY = "policy"
    """Change how long tasks and records are kept."""

    WEBHOOKS = "webhooks"
    """Send notifications to other systems."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Which roles may do something to what is their own, and which to what is anyone's."""

    own: frozenset[Role]
    anyones: frozenset[Role]


def _grant(*, own: Iterable[Role], anyones: Iterable[Role] = ()) -> Grant:
    return Grant(frozenset(own), frozenset(anyones))


_OWNER = (Role.OWNER,)
_READS = (Role.OPERATOR, Role.AUDITOR, Role.ADMIN)
_ACTS = (Role.OPERATOR, Role.ADMIN)
_ADMIN = (Role.ADMIN,)

TABLE: Mapping[Action, Grant] = {
    Action.VIEW: _grant(own=_OWNER, anyones=_READS),
    Action.RUN: _grant(own=_OWNER),
    Action.ANSWER: _grant(own=_OWNER, anyones=_ACTS),
    Action.APPROVE: _grant(own=_ACTS, anyones=_ACTS),
    Action.CANCEL: _grant(own=_OWNER, anyones=_ACTS),
    Action.EXTEND: _grant(own=_OWNER, anyones=_ACTS),
    Action.HOLD: _grant(own=_ADMIN, anyones=_ADMIN),
    Action.EXPORT: _grant(own=_OWNER, anyones=_READS),
    Action.AUDIT: _grant(own=_OWNER, anyones=(Role.AUDITOR, Role.ADMIN)),
    Action.TOKENS: _grant(own=_OWNER, anyones=_ADMIN),
    Action.REVOKE: _grant(own=_OWNER, anyones=_ADMIN),
    Action.SHARE_VIEWS: _grant(own=_ACTS, anyones=_ACTS),
    Action.POLICY: _grant(own=_ADMIN, anyones=_ADMIN),
    Action.WEBHOOKS: _grant(own=_ADMIN, anyones=_ADMIN),
}


@dataclass(frozen=True, slots=True)
class Principal:
    """A signed-in account: the owner that it is, and its roles at this moment."""

    user: User
    owner_id: int
    roles: frozenset[Role]

    def may(self, action: Action, *, everyone: bool = False) -> bool:
        """Whether the account may do this to what is its own or, with `everyone`, to what is anyone's."""
        grant = TABLE[action]
        return bool(self.roles & (grant.anyones if everyone else grant.own | grant.anyones))

    def may_on(self, action: Action, *, task_owner_id: int) -> bool:
        """Whether the account may do this to a task of that owner."""
        return self.may(action, everyone=task_owner_id != self.owner_id)

    def scope(self, everyone: bool, *, action: Action = Action.VIEW) -> int | None:
        """Whose tasks a read or write may touch: this owner's, or (None) everyone's if that is wanted and allowed."""
        return None if everyone and self.may(action, everyone=True) else self.owner_id


def principal_of(asker: HttpRequest | User | AnonymousUser) -> Principal:
    """Who asks, with the roles that the account has now. Raises PermissionDenied without an active account."""
    user = asker.user if isinstance(asker, HttpRequest) else asker
    if not isinstance(user, User):
        raise PermissionDenied("Sign in first.")
    return Principal(user, store.owner_of(user), _roles_of(user))


def _roles_of(user: User) -> frozenset[Role]:
    """Read from the database, not from the account object: a socket may hold on to that for days."""
    now = User.objects.filter(pk=user.pk, is_active=True).values_list("is_superuser", "groups__name")
    if not now:
        raise PermissionDenied("This account is not active.")
    given = {Role(name) for _, name in now if name in GROUPS}
    return frozenset({Role.OWNER} | given | ({Role.ADMIN} if now[0][0] else set()))


def require(
    action: Action, *, everyone: bool = False
) -> Callable[
    [Callable[Concatenate[HttpRequest, Principal, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, P], HttpResponseBase],
]:
    """Guard a view: it is called with the principal as its second argument, and only when the action is allowed."""
    if action not in TABLE:
        raise LookupError(f"no role is named for {action!r}; add it to the table in console.access")

    def guard(
        view: Callable[Concatenate[HttpRequest, Principal, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            principal = principal_of(request)
            if not principal.may(action, everyone=everyone):
                raise PermissionDenied("Your role does not allow this.")
            # For the frame around the page, which must not ask for the roles a second time.
            request.principal = principal  # type: ignore[attr-defined]
            return view(request, principal, *args, **kwargs)

        guarded.action = action  # type: ignore[attr-defined]
        return guarded

    return guard


def actor_for(
    principal: Principal,
    *,
    task_owner_id: int,
    reason: str | None = None,
    as_operator: bool = False,
) -> Actor:
    """In what capacity somebody acts on a task: its owner or, on another's task or `as_operator`, with their role.

    Raises NotFound for another's task without a role (it looks as if there were none), NotAllowed without a reason.
    """
    is_own = task_owner_id == principal.owner_id
    if is_own and not as_operator:
        return Actor(ActorKind.OWNER, id=principal.owner_id, via=VIA, reason=reason, request=request_ids.current())
    kind = _capacity(principal)
    request_id = request_ids.current()
    actor = Actor(kind, id=principal.owner_id, role=kind.value, via=VIA, reason=reason, request=request_id)
    require_reason(actor, owner_id=task_owner_id)
    return actor


def _capacity(principal: Principal) -> ActorKind:
    # The wider role is named, because it is the one that allows everything that the narrower does.
    for role, kind in ((Role.ADMIN, ActorKind.ADMIN), (Role.OPERATOR, ActorKind.OPERATOR)):
        if role in principal.roles:
            return kind
    raise NotFound
