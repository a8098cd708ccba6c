"""Which pages are photographed, one line a page: its name, its address, and a link to follow from there, if any."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shot:
    """One page; `follow` is the selector of a link to open before the picture is taken."""

    name: str
    address: str
    follow: str = ""
    is_signed_in: bool = True
    is_early: bool = False
    """Whether it is taken while the demo is young, before a day of tasks is invented."""


SHOTS = (
    Shot("tasks", "/tasks/?scope=mine", is_early=True),
    Shot("task", "/tasks/?scope=mine&q=tool:deploy_service", follow=".tasks a.name", is_early=True),
    Shot("task-failed", "/tasks/?scope=mine&q=tool:sync_crm", follow=".tasks a.name"),
    Shot("inbox", "/inbox/?scope=mine"),
    Shot("overview", "/overview/?scope=all&range=24h"),
    Shot("tools", "/tools/?scope=all"),
    Shot("tool", "/tools/deploy_service/"),
    Shot("connect", "/connect/"),
    Shot("password", "/account/password/"),
    Shot("expirations", "/expirations/?scope=all"),
    Shot("audit", "/audit/"),
    Shot("settings", "/settings/"),
    Shot("not-found", "/nowhere/"),
    Shot("sign-in", "/login/", is_signed_in=False),
)
SIZES = {"wide": (1280, 800), "phone": (390, 844)}
SCHEMES = ("light", "dark")
