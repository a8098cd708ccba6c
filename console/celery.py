"""The Celery application. A message is only a hint that some task is due; Postgres is the truth."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.embedded")

app = Celery("taskdeck")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["tasks_app.engine"], related_name="worker")
