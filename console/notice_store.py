"""How an account wants to be told that it is needed: read on the pages that ask, written on its own page."""

from __future__ import annotations

from dataclasses import dataclass

from console.notice_models import Notice
from tasks_app.store.db import atomic


@dataclass(frozen=True, slots=True)
class NoticeView:
    """The choices of one account; the defaults are those of an account that never chose."""

    notify: bool = False
    advance: bool = True


def notice_of(user_id: int) -> NoticeView:
    """What the account chose."""
    found = Notice.objects.filter(user_id=user_id).values_list("notify", "advance").first()
    return NoticeView() if found is None else NoticeView(*found)


def set_notice(user_id: int, *, notify: bool | None = None, advance: bool | None = None) -> None:
    """Keep what the account chose; what is not given stays as it is."""
    given = {name: value for name, value in (("notify", notify), ("advance", advance)) if value is not None}
    with atomic():
        Notice.objects.update_or_create(user_id=user_id, defaults=given)
