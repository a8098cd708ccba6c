"""What a deployment names: https only, explicit hosts, external services; refuses to start when one is missing."""

from __future__ import annotations

from console.settings.base import *  # noqa: F403
from console.settings.base import globals_of_conf, site

REQUIRED = {
    "TASKDECK_SECRET_KEY": site.secret_key,
    "TASKDECK_ALLOWED_HOSTS": site.allowed_hosts,
    "DATABASE_URL": site.database_url,
    "BROKER_URL": site.broker_url,
    "CHANNEL_URL": site.channel_url,
}
if missing := [name for name, value in REQUIRED.items() if not value]:
    raise SystemExit(f"Missing setting: {', '.join(missing)}. Production settings need each of them.")
if globals_of_conf.get("TASKDECK_ALLOW_ANONYMOUS"):
    raise SystemExit("Wrong setting: TASKDECK_ALLOW_ANONYMOUS is for trying things out; production refuses it.")

SECURE_SSL_REDIRECT = True
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 86_400
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_NAME = "__Host-taskdeck"
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_NAME = "__Host-csrf"
CSRF_COOKIE_SECURE = True
if site.behind_proxy:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
