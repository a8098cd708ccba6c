"""Where the site is, for commands that print a link to it."""

from __future__ import annotations

import os

from console.settings.environment import read_site


def site_address() -> str:
    """The address that the supervisor was given, or else the one that the settings name; with a slash at the end."""
    given = os.environ.get("TASKDECK_URL")
    if given:
        return given
    site = read_site()
    host = f"[{site.host}]" if ":" in site.host else site.host
    return f"http://{host}:{site.port}/"
