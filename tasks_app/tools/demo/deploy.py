"""Tools that wait for people: one asks its owner in the middle, one needs an operator's approval before it starts."""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tasks_app.engine import Context, ToolError, tool
from tasks_app.tools.demo.pace import Seconds, linger

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$", description="Small letters, digits and hyphens.")]


class Plan(BaseModel):
    """What a deployment will do."""

    artifact: str
    hosts: list[str]


class Approval(BaseModel):
    """What the owner decides before anything is changed."""

    strategy: Literal["canary", "blue-green", "all at once"] = Field("canary", title="Strategy")
    percent: int = Field(10, ge=1, le=100, title="Percent", description="How much traffic the first host gets.")
    notify: list[Literal["#releases", "on-call"]] = Field(["#releases"], title="Notify")


class Deployed(BaseModel):
    """How a deployment ended."""

    done: bool
    hosts: list[str] = []
    strategy: str = ""


@tool(title="Deploy a service", expected=10, timeout=120, labels=("service", "version"))
def deploy_service(
    ctx: Context,
    service: Name = "web",
    version: Annotated[str, Field(pattern=r"^[0-9a-zA-Z][0-9a-zA-Z.-]{0,39}$")] = "4.2",
    hosts: Annotated[int, Field(ge=1, le=20, description="On how many hosts.")] = 4,
    seconds: Seconds = 8,
) -> Deployed:
    """Deploy a service after you approve the plan.

    Makes a plan, asks for approval with a form, then puts the release on one host after the other. While it waits for
    the answer it holds no worker, and what was done before is not done again. The hosts are only directories here.
    """
    plan = ctx.step("plan", _make_plan, service, version, hosts)
    message = f"Approve rollout of {service} {version} to {len(plan.hosts)} hosts?"
    approval = ctx.ask("approve", Approval, message=message)
    if not approval.accepted or approval.value is None:
        return Deployed(done=False)
    for number, host in enumerate(plan.hosts, 1):
        digest = ctx.step(f"push {host}", _push, plan, host, key=ctx.idempotency_key(f"push {host}"))
        ctx.log(f"{host}: {digest[:12]} in place")
        ctx.progress(number, len(plan.hosts), f"{host} runs {version}")
        linger(ctx, seconds / len(plan.hosts))
    ctx.set_variable("deployed", f"{service} {version}")
    return Deployed(done=True, hosts=plan.hosts, strategy=approval.value.strategy)


def _make_plan(service: str, version: str, hosts: int) -> Plan:
    return Plan(artifact=f"{service}-{version}.tar", hosts=[f"{service}-{number}" for number in range(1, hosts + 1)])


def _push(plan: Plan, host: str, *, key: str) -> str:
    """Put the release on a host, and make sure that it arrived whole. The key lets a host refuse a second copy."""
    release = f"{plan.artifact} for {host} ({key})\n".encode() * 1000
    with tempfile.TemporaryDirectory(prefix=f"taskdeck-{host}-") as directory:
        path = Path(directory) / plan.artifact
        path.write_bytes(release)
        arrived = hashlib.sha256(path.read_bytes()).hexdigest()
    if arrived != hashlib.sha256(release).hexdigest():
        raise ToolError(f"The release did not arrive whole at {host}. Deploy again.")
    return arrived


class Provisioned(BaseModel):
    """A database that is ready."""

    name: str
    tables: list[str]
    rows: int


@tool(title="Provision a database", task="required", expected=6, approval="operator", labels=("name",))
def provision_database(
    ctx: Context,
    name: Name = "orders",
    tables: Annotated[int, Field(ge=1, le=20, description="How many tables to make.")] = 3,
    seconds: Seconds = 6,
) -> Provisioned:
    """Make a database, once an operator has approved it.

    Shows the approval gate: nothing runs until an operator who is not the task's owner says yes in the console. The
    database is made in memory, filled, checked, and dropped at the end.
    """
    made: list[str] = []
    with closing(sqlite3.connect(":memory:")) as database:
        for number in range(1, tables + 1):
            made.append(_make_table(database, number))
            ctx.log(f"Made {name}.{made[-1]}")
            ctx.progress(number, tables, f"Made {made[-1]}")
            linger(ctx, seconds / tables)
        rows = sum(_count(database, table) for table in made)
    return Provisioned(name=name, tables=made, rows=rows)


def _make_table(database: sqlite3.Connection, number: int) -> str:
    table = f"table_{number}"
    with database:
        database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE)")
        labels = [(f"row {row} of {table}",) for row in range(100 * number)]
        database.executemany(f"INSERT INTO {table} (label) VALUES (?)", labels)  # noqa: S608 - a name of our own
    return table


def _count(database: sqlite3.Connection, table: str) -> int:
    [count] = database.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - a name of our own
    return int(count)
