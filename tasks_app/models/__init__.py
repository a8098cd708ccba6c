"""The tables: one file a noun, with its fields, constraints, indexes and rules. No verbs: those are in the store."""

from __future__ import annotations

from tasks_app.models.attempt import Attempt
from tasks_app.models.credential import Credential
from tasks_app.models.event import Event
from tasks_app.models.expiration import Expiration
from tasks_app.models.fetch import Fetch
from tasks_app.models.loop import Loop
from tasks_app.models.output import Output
from tasks_app.models.owner import Owner
from tasks_app.models.policy import PolicyVersion
from tasks_app.models.question import Question
from tasks_app.models.seal import ChainCheck, Seal
from tasks_app.models.session import Session
from tasks_app.models.step import Step
from tasks_app.models.tally import Count, Minute, Tally
from tasks_app.models.task import Task
from tasks_app.models.worker import Worker

__all__ = [
    "Attempt",
    "ChainCheck",
    "Count",
    "Credential",
    "Event",
    "Expiration",
    "Fetch",
    "Loop",
    "Minute",
    "Output",
    "Owner",
    "PolicyVersion",
    "Question",
    "Seal",
    "Session",
    "Step",
    "Tally",
    "Task",
    "Worker",
]
