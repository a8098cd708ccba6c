"""Tools that do not end well: one with a tool error, which the caller's model reads, one with a protocol error."""

from __future__ import annotations

import csv
import hashlib
import io
import smtplib
import socket
from typing import Annotated

from pydantic import Field

from tasks_app.engine import Context, RpcError, ToolError, tool
from tasks_app.tools.demo.pace import Seconds, linger

SMTP_SECONDS = 2.0
SCHEMA_CHANGED = -32_000
KNOWN_SCHEMA = 2


@tool(title="Send a report", expected=6, retries=0, labels=("recipient",))
def send_report(
    ctx: Context,
    recipient: Annotated[str, Field(max_length=200, description="Who should get it.")] = "ana@example.org",
    rows: Annotated[int, Field(ge=1, le=10_000, description="How long the report is.")] = 500,
    seconds: Seconds = 5,
) -> str:
    """Write a report and send it, which fails: there is no mail server.

    Shows a tool error: the task has completed, and its result says what went wrong, for the caller to act on.
    """
    report = _write_report(rows)
    ctx.progress(1, 2, f"Wrote {len(report)} bytes")
    linger(ctx, seconds)
    with socket.socket() as taken:
        # Bound and not listening: a port where nobody answers, and nobody else can begin to.
        taken.bind(("127.0.0.1", 0))
        host, port = taken.getsockname()
        ctx.log(f"Connecting to {host}:{port}")
        _send(report, recipient, host=host, port=port)
    return f"Sent {len(report)} bytes to {recipient}."


def _write_report(rows: int) -> str:
    report = io.StringIO()
    lines = csv.writer(report)
    lines.writerow(["day", "orders", "revenue"])
    lines.writerows((day, day * 7 % 41, f"{day * 13.5 % 997:.2f}") for day in range(1, rows + 1))
    return report.getvalue()


def _send(report: str, recipient: str, *, host: str, port: int) -> None:
    try:
        with smtplib.SMTP(host, port, timeout=SMTP_SECONDS) as server:
            server.sendmail("reports@example.org", [recipient], report)
    except OSError as error:
        raise ToolError(
            f"The report is written ({len(report)} bytes), but the mail server refused the connection: nothing was "
            f"sent to {recipient}. Check the mail server, then send the report again."
        ) from error


@tool(title="Sync the CRM", expected=5, retries=0, labels=("contacts",))
def sync_crm(
    ctx: Context,
    contacts: Annotated[int, Field(ge=1, le=10_000, description="How many contacts to compare.")] = 400,
    seconds: Seconds = 5,
) -> str:
    """Compare contacts with a CRM that turns out to speak another language, which fails.

    Shows a protocol error: the call itself fails, with a code and data for programs.
    """
    pages = 4
    changed = 0
    for page in range(1, pages + 1):
        changed += _compare(page, contacts // pages)
        ctx.progress(page, pages + 1, f"Compared page {page}: {changed} contacts differ")
        linger(ctx, seconds / pages)
    schema = KNOWN_SCHEMA + 1
    message = f"The CRM answers with schema {schema}, and this tool knows {KNOWN_SCHEMA}. Nothing was written."
    raise RpcError(SCHEMA_CHANGED, message, {"schema": schema, "known": KNOWN_SCHEMA, "differ": changed})


def _compare(page: int, contacts: int) -> int:
    """Count the contacts whose digest here is not the one there; every fifth has moved house."""
    numbers = range((page - 1) * contacts, page * contacts)
    here = {number: hashlib.sha256(f"contact {number}".encode()).digest() for number in numbers}
    moved = {number: f"contact {number}" + (" moved" if number % 5 == 0 else "") for number in numbers}
    return sum(here[number] != hashlib.sha256(text.encode()).digest() for number, text in moved.items())
