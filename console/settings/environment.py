"""What the site reads from the environment, typed; a wrong value ends the process with one line that names it.

Only addresses, secrets and switches of the site live here. The limits and knobs of the engine are in `tasks_app.conf`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import BaseModel, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from tasks_app.conf import Conf, split_names

ROOT = Path(__file__).resolve().parent.parent.parent
MAY_BE_EMPTY = {"fallback_tool"}
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
HOST_NAME = re.compile(r"\*|\.?[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]")
Model = TypeVar("Model", bound=BaseModel)


class Site(BaseSettings):
    """Where the site is served and what it talks to; names as in the environment, without the prefix."""

    model_config = SettingsConfigDict(env_prefix="TASKDECK_", env_ignore_empty=True, extra="ignore", frozen=True)

    database_url: str = Field("", validation_alias="DATABASE_URL")
    broker_url: str = Field("", validation_alias="BROKER_URL")
    channel_url: str = Field("", validation_alias="CHANNEL_URL")
    host: str = Field("127.0.0.1", validation_alias="HOST")
    port: int = Field(8000, ge=1, le=65535, validation_alias="PORT")
    secret_key: str = ""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    trusted_origins: Annotated[tuple[str, ...], NoDecode] = ()
    behind_proxy: bool = False
    webhook_allow_private: bool = False
    log_level: str = "INFO"
    data: Path = ROOT / ".taskdeck"

    @field_validator("allowed_hosts", "trusted_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return split_names(value)

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [name for name in names if not HOST_NAME.fullmatch(name)]:
            raise ValueError(
                f"{wrong[0]!r} is not a host; give names without scheme and port: a.example.org,b.example.org"
            )
        return names

    @field_validator("trusted_origins")
    @classmethod
    def _are_origins(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [name for name in names if not name.startswith(("http://", "https://"))]:
            raise ValueError(f"{wrong[0]!r} is not an origin; give scheme and host: https://a.example.org")
        return names

    @field_validator("data")
    @classmethod
    def _is_no_file(cls, path: Path) -> Path:
        if path.exists() and not path.is_dir():
            raise ValueError("there is a file of that name; give a directory, which may be new")
        return path

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, value: str) -> str:
        if value.upper() not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
            raise ValueError("choose one of DEBUG, INFO, WARNING, ERROR")
        return value.upper()

    @field_validator("database_url")
    @classmethod
    def _is_postgres(cls, value: str) -> str:
        if not value:
            return value
        parts = urlsplit(value)
        if parts.scheme not in {"postgres", "postgresql"}:
            raise ValueError("only Postgres is supported: postgresql://user:password@host:5432/name")
        if not _has_valid_port(parts) or not parts.path.strip("/"):
            raise ValueError("port or name is wrong or missing: postgresql://user:password@host:5432/name")
        return value

    @field_validator("broker_url")
    @classmethod
    def _is_broker(cls, value: str) -> str:
        known = {"redis", "rediss", "redis+socket", "amqp", "amqps", "sentinel"}
        if value and (urlsplit(value).scheme not in known or not _has_valid_port(urlsplit(value))):
            raise ValueError("use a Redis or RabbitMQ address, such as redis://host:6379/0")
        return value

    @field_validator("channel_url")
    @classmethod
    def _is_redis(cls, value: str) -> str:
        known = {"redis", "rediss", "unix"}
        if value and (urlsplit(value).scheme not in known or not _has_valid_port(urlsplit(value))):
            raise ValueError("use a Redis address, such as redis://host:6379/1")
        return value


UNPREFIXED = {str(field.validation_alias) for field in Site.model_fields.values() if field.validation_alias}


def read_site() -> Site:
    """The site's own settings; ends the process when one is wrong."""
    return _or_exit(Site, {})


def read_conf() -> dict[str, Any]:
    """The engine's settings that the environment sets, as Django settings named `TASKDECK_…`."""
    found = {name: os.environ.get(f"TASKDECK_{name.upper()}") for name in Conf.model_fields}
    # An empty value means the default, except where empty text is a choice of its own.
    given = {name: value for name, value in found.items() if value or (value == "" and name in MAY_BE_EMPTY)}
    conf = _or_exit(Conf, given)
    return {f"TASKDECK_{name.upper()}": getattr(conf, name) for name in given}


def _or_exit(model: type[Model], values: dict[str, Any]) -> Model:
    try:
        return model(**values)
    except ValidationError as error:
        raise SystemExit(explain(error)) from None


def explain(error: ValidationError) -> str:
    """One line: each wrong setting by the name that the environment knows, and what is wrong with it."""
    return (
        "Wrong setting: "
        + "; ".join(_explain_one(item["loc"], item["msg"], item["input"]) for item in error.errors())
        + "."
    )


def _explain_one(location: tuple[int | str, ...], message: str, value: object) -> str:
    reason = message.removeprefix("Value error, ")
    if not location:  # a rule between settings, which names them itself
        return reason
    name = str(location[0]).upper()
    shown = name if name in UNPREFIXED else f"TASKDECK_{name}"
    # An address may hold a password, and what is printed here ends up in logs.
    given = "" if shown.endswith(("_URL", "_KEY", "_TOKEN")) else f"={_shorten(value)}"
    return f"{shown}{given}: {reason[:1].lower()}{reason[1:]}"


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _has_valid_port(parts: SplitResult) -> bool:
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def database(url: str) -> dict[str, Any]:
    """Django's database settings for a Postgres address; query parameters go to the driver (`?host=/socket/dir`)."""
    parts = urlsplit(url)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or parts.hostname or ""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or options.pop("port", "") or ""),
        "OPTIONS": options,
    }
