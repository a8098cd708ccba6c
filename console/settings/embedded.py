"""What `make run` uses: one machine, loopback, addresses and secret given by the supervisor (`manage.py up`).

A command that is run by hand beside it (`manage.py shell`) is given none of these, and finds the same services and the
same secret in the data directory.
"""

from __future__ import annotations

import os
from pathlib import Path

from console.embedded.account import unprivileged_account
from console.embedded.errors import EmbeddedError
from console.embedded.paths import DataDirectory, choose_data_directory
from console.embedded.postgres import EmbeddedPostgres
from console.embedded.valkey import EmbeddedValkey
from console.settings.base import *  # noqa: F403
from console.settings.base import (
    CELERY_BROKER_URL,
    CHANNEL_LAYERS,
    DATABASES,
    LOGGING,
    TASKDECK_WAKE_URL,
    globals_of_conf,
    site,
)
from console.settings.environment import LOOPBACK_HOSTS, ROOT, database


def _data() -> DataDirectory:
    account = None if site.database_url else unprivileged_account()
    return choose_data_directory(ROOT, environ=os.environ, account=account)


def _kept_secret(data: Path) -> str:
    try:
        return (data / "secret_key").read_text().strip()
    except OSError:
        return ""


try:
    data = _data().path
    if not site.database_url:
        found = database(EmbeddedPostgres(data / "pg").url)
        DATABASES["default"] |= {name: value for name, value in found.items() if name != "OPTIONS"}
    valkey = EmbeddedValkey(data / "valkey")
    CELERY_BROKER_URL = CELERY_BROKER_URL or valkey.broker_url
    CHANNEL_LAYERS["default"]["CONFIG"]["hosts"] = [site.channel_url or valkey.channel_url]
    TASKDECK_WAKE_URL = TASKDECK_WAKE_URL or valkey.channel_url
except EmbeddedError as error:
    raise SystemExit(str(error)) from None

ALLOWED_HOSTS = list(site.allowed_hosts or LOOPBACK_HOSTS)
CSRF_TRUSTED_ORIGINS = list(site.trusted_origins)
# `check` and `makemigrations` run before there is any data; whatever serves gets its secret from the supervisor.
SECRET_KEY = site.secret_key or _kept_secret(data) or "only-for-commands-that-serve-nothing"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Static files are served from where they lie: nothing is collected.
STATIC_ROOT = None
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 0
# Something to look at from the first minute.
TASKDECK_DEMO = globals_of_conf.get("TASKDECK_DEMO", True)
# Ctrl-C gives the worker ten seconds: what a tool has not given back by then would count as lost.
TASKDECK_RELEASE_AFTER = globals_of_conf.get("TASKDECK_RELEASE_AFTER", 3)
# One line a request would bury what a person looks for in the terminal.
LOGGING["loggers"]["tasks_app.mcp.access"] = {"level": "WARNING"}
