"""What a tool author imports: the decorator, the context, what can be asked, and the errors that end a tool.

Nothing here, and nothing that these modules import, needs Django or a database. The modules that run tools on workers
(run, heartbeat, dispatch, loop) do, and are imported by name.
"""

from __future__ import annotations

from tasks_app.domain.errors import QuestionExpired, Retryable, RpcError, ToolChanged, ToolError
from tasks_app.engine.async_context import AsyncContext
from tasks_app.engine.content import prompt, resource
from tasks_app.engine.context import Context
from tasks_app.engine.forms import Choice, Confirm, Root, Sample, Text
from tasks_app.engine.journal import Handle
from tasks_app.engine.leg import IllegalOrder
from tasks_app.engine.questions import Answer, BadQuestion, Question
from tasks_app.engine.registry import tool
from tasks_app.engine.schema import InvalidArguments

__all__ = [
    "Answer",
    "AsyncContext",
    "BadQuestion",
    "Choice",
    "Confirm",
    "Context",
    "Handle",
    "IllegalOrder",
    "InvalidArguments",
    "Question",
    "QuestionExpired",
    "Retryable",
    "Root",
    "RpcError",
    "Sample",
    "Text",
    "ToolChanged",
    "ToolError",
    "prompt",
    "resource",
    "tool",
]
