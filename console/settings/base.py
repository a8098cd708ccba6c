"""Every setting of the site, grouped. The other modules of this package change only what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from console.settings.environment import ROOT, database, read_conf, read_site

site = read_site()
globals_of_conf = read_conf()
globals().update(globals_of_conf)

# Process

DEBUG = False
SECRET_KEY = site.secret_key
ALLOWED_HOSTS = list(site.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(site.trusted_origins)
ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "tasks_app",
    "console",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "pgtrigger",
]

MIDDLEWARE = [
    "console.request_ids.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "console.static_files.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "console.zone.ZoneMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.refusals.RefusalsMiddleware",
    "console.pages.scope.ScopeMiddleware",
]

# Database. Time-outs: no statement of ours may hold a row, or the queue behind it, for long.

DATABASE_TIMEOUTS = "-c lock_timeout=2s -c statement_timeout=5s -c idle_in_transaction_session_timeout=10s"
DATABASES: dict[str, dict[str, Any]] = {"default": database(site.database_url)}
DATABASES["default"]["OPTIONS"].setdefault("options", DATABASE_TIMEOUTS)
# Over TCP: a server that cannot be reached, or from which nothing comes any more, is given up.
for _name, _value in {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}.items():
    DATABASES["default"]["OPTIONS"].setdefault(_name, _value)
# Parameters travel apart from the statement, and a statement that recurs is planned once.
DATABASES["default"]["OPTIONS"] |= {"server_side_binding": True, "prepare_threshold": 5}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True

# Broker and live bus

CELERY_BROKER_URL = site.broker_url
CELERY_TASK_DEFAULT_QUEUE = "taskdeck"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_WORKER_CONSUMER = "tasks_app.engine.consumer:PromptConsumer"
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 2}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_ENABLE_UTC = True
TASKDECK_WAKE_URL = globals_of_conf.get("TASKDECK_WAKE_URL", site.channel_url)
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "tasks_app.layer.OneTripLayer",
        "CONFIG": {"hosts": [site.channel_url]},
    }
}

# Pages

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.pages.shell.shell",
            ]
        },
    }
]
STATIC_URL = "static/"
STATICFILES_DIRS = [ROOT / "static"]
STATIC_ROOT: Path | None = ROOT / "staticfiles"
LANGUAGE_CODE = "en-gb"
USE_TZ = True
TIME_ZONE = "UTC"

# Identity

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
CSRF_FAILURE_VIEW = "console.pages.errors.csrf_failure"
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = True

# What a browser may do with our pages

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "manifest-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024

# Webhooks. Whether a message may go to loopback, private and link-local addresses

TASKDECK_WEBHOOK_ALLOW_PRIVATE = site.webhook_allow_private

# Logging: one line an event, to standard error

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": site.log_level},
    "loggers": {
        # A refused connection or a 404 is not worth a line of its own.
        "django.request": {"level": "ERROR"},
        # A hint is no event. What becomes of a task is in its own log, and a child that had to be ended is named there.
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.request": {"level": "CRITICAL"},
    },
}
