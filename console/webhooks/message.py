"""What a message says, and how the other side knows that it is from here.

The body is JSON that Slack and those who imitate it take as it is: `text`, with a link to the very question. It holds
no word of what is asked or of the task's arguments.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from django.urls import reverse
from django.utils.crypto import salted_hmac

from console import present
from console.store import Lease, Told
from tasks_app.store import search

SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with, not one
SIGNATURE = "Taskdeck-Signature"
TIMESTAMP = "Taskdeck-Timestamp"
DELIVERY = "Taskdeck-Delivery"


def secret_of(salt: str) -> str:
    """The secret of a webhook, made anew each time from the site's own key: no table holds it."""
    return SECRET_PREFIX + salted_hmac("console.webhook", salt, algorithm="sha256").hexdigest()


def body_of(leased: Lease) -> bytes:
    """The message, as it is signed and sent."""
    said = _test(leased) if leased.question is None else _question(leased, leased.question)
    return json.dumps({**said, "delivery": leased.id}, separators=(",", ":")).encode()


def headers_for(leased: Lease, body: bytes) -> dict[str, str]:
    """The headers of a message: `v1=` and the HMAC-SHA256 of time, a dot and the body, with the webhook's secret."""
    timestamp = str(int(leased.at.timestamp()))
    return {
        "Content-Type": "application/json",
        "User-Agent": "Taskdeck-Webhook/1",
        DELIVERY: str(leased.id),
        TIMESTAMP: timestamp,
        SIGNATURE: f"v1={signature(secret_of(leased.salt), timestamp=timestamp, body=body)}",
    }


def signature(secret: str, *, timestamp: str, body: bytes) -> str:
    """What the other side computes too, to compare."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _test(leased: Lease) -> dict[str, Any]:
    url = leased.site + reverse("inbox")
    return {"text": f"This is a test of a Taskdeck webhook. {url}", "type": "test", "url": url}


def _question(leased: Lease, told: Told) -> dict[str, Any]:
    url = leased.site + reverse("question", args=[told.task_id, told.key])
    about = {
        "type": "question.opened",
        "url": url,
        "task": str(told.task_id),
        "key": told.key,
        "expires_at": present.iso(told.expires_at),
    }
    if not leased.names_tool:
        return {"text": f"A task needs your input: {url}", **about}
    owner = search.owner_names([told.owner_id]).get(told.owner_id, "")
    text = f"{_plain(told.tool)} of {_plain(owner)} needs an answer: {url}"
    return {"text": text, **about, "tool": told.tool, "owner": owner}


def _plain(text: str) -> str:
    """Text that Slack shows as it is, and makes neither a link nor a mention of."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
