"""What the tests use: real services with short knobs, started by the pytest plugin."""

from __future__ import annotations

import os

os.environ.setdefault("TASKDECK_SECRET_KEY", "a key for tests, long enough and secret to nobody at all")

from console.settings.embedded import *  # noqa: F403

ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1", "[::1]"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Short enough that a test can watch a lease run out.
TASKDECK_LEASE = float(os.environ.get("TASKDECK_LEASE", "2"))
TASKDECK_HEARTBEAT = float(os.environ.get("TASKDECK_HEARTBEAT", "0.5"))
TASKDECK_GRACE = float(os.environ.get("TASKDECK_GRACE", "2"))
TASKDECK_RELEASE_AFTER = 1
TASKDECK_REAP_EVERY = 0.2
TASKDECK_SWEEP_EVERY = 0.2
TASKDECK_WORKER_BEAT = 0.2
# What is refused in one test must not be written in the middle of another.
TASKDECK_REFUSALS_EVERY = 86_400
