"""Which pages are photographed, one line a page: its name, its address, and what to click from there, if anything."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Viewer(Enum):
    """Who looks at a page."""

    ADMIN = "the administrator of the first run"
    NEWCOMER = "somebody who has no task yet"
    NOBODY = "somebody who is not signed in"


@dataclass(frozen=True, slots=True)
class Shot:
    """One page; `follow` are the selectors of what is clicked, one after the other, before the picture is taken."""

    name: str
    address: str
    follow: tuple[str, ...] = ()
    viewer: Viewer = Viewer.ADMIN
    is_early: bool = False
    """Whether it is taken while the demo is young, before a day of tasks is invented."""


TASK = (".tasks a.name",)
SHOTS = (
    Shot("tasks", "/tasks/?scope=mine", is_early=True),
    Shot("task", "/tasks/?scope=mine&q=tool:deploy_service", follow=TASK, is_early=True),
    Shot("question", "/inbox/?scope=mine", follow=(".mail a",), is_early=True),
    Shot("first-run", "/tasks/?scope=mine", viewer=Viewer.NEWCOMER, is_early=True),
    Shot("task-done", "/tasks/?scope=all&q=status:completed+-is:toolerror", follow=TASK),
    Shot("task-tool-error", "/tasks/?scope=all&q=is:toolerror", follow=TASK),
    Shot("task-failed", "/tasks/?scope=mine&q=tool:sync_crm", follow=TASK),
    Shot("bulk-cancel", "/tasks/?scope=all&q=status:working", follow=("tbody tr:nth-child(2) .pick", "#bulk .danger")),
    Shot("inbox", "/inbox/?scope=mine"),
    Shot("question-locked", "/inbox/?scope=all&tab=answered", follow=(".mail a",)),
    Shot("overview", "/overview/?scope=all&range=24h"),
    Shot("tools", "/tools/?scope=all"),
    Shot("tool", "/tools/deploy_service/"),
    Shot("connect", "/connect/"),
    Shot("password", "/account/password/"),
    Shot("expirations", "/expirations/?scope=all"),
    Shot("expirations-expired", "/expirations/expired/?scope=all", follow=(".exps .twist",)),
    Shot("expirations-purged", "/expirations/purged/?scope=all"),
    Shot("expirations-policy", "/expirations/policy/"),
    Shot("audit", "/audit/"),
    Shot("settings", "/settings/"),
    Shot("webhooks", "/settings/webhooks/"),
    Shot("not-found", "/nowhere/"),
    Shot("sign-in", "/login/", viewer=Viewer.NOBODY),
)
SIZES = {"wide": (1280, 800), "phone": (390, 844)}
SCHEMES = ("light", "dark")
