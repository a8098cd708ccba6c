"""Every message that a server of 2026-07-28 sends us in the tests, the tasks extension included."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StrictInt

from tests.contracts.base import (
    Changes,
    Content,
    Empty,
    Error,
    Form,
    Id,
    Implementation,
    Line,
    Meta,
    Moment,
    Progress,
    Prompt,
    PromptMessage,
    Resource,
    ResourceContents,
    Sampling,
    Strict,
    TaskId,
    Template,
    Tool,
    Values,
    Visit,
)
from tests.contracts.legacy import TaskProgress

SERVER = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class ServerMeta(Strict):
    """Who answers."""

    server: Annotated[Implementation, Field(alias=SERVER)]


class Complete(Strict):
    """A result that is whole."""

    result_type: Annotated[Literal["complete"], Field(alias="resultType")]
    meta: Annotated[ServerMeta, Field(alias="_meta")]


class Cacheable(Complete):
    """A result that may be kept for a while."""

    ttl: Annotated[StrictInt, Field(alias="ttlMs", ge=0)]
    scope: Annotated[Literal["public", "private"], Field(alias="cacheScope")]


class Page(Cacheable):
    """A page of something."""

    cursor: Annotated[str | None, Field(alias="nextCursor")] = None


class Unwatched(Changes):
    """Resources, which cannot be watched here."""

    subscribe: Literal[False]


class Extensions(Strict):
    """Tasks, and nothing else."""

    tasks: Annotated[Empty, Field(alias="io.modelcontextprotocol/tasks")]


class Capabilities(Strict):
    """What the server can do; tasks are an extension here."""

    tools: Changes
    logging: Empty
    prompts: Changes | None = None
    resources: Unwatched | None = None
    completions: Empty | None = None
    extensions: Extensions


class Discovered(Cacheable):
    """The result of `server/discover`."""

    versions: Annotated[list[Literal["2026-07-28"]], Field(alias="supportedVersions")]
    capabilities: Capabilities
    instructions: str


class Tools(Page):
    """The result of `tools/list`."""

    tools: list[Tool]


class ToolResult(Strict):
    """What a tool returned; whether it is within a task or not, it says that it is whole."""

    result_type: Annotated[Literal["complete"], Field(alias="resultType")]
    content: list[Content]
    structured: Annotated[JsonValue, Field(alias="structuredContent")] = None
    is_error: Annotated[bool, Field(alias="isError")] = False
    meta: Annotated[Meta | None, Field(alias="_meta")] = None

    def model_post_init(self, _context: Any) -> None:
        """A result never names its task: that is the other dialect's way."""
        assert "io.modelcontextprotocol/related-task" not in (self.meta or {})


class FormRequest(Strict):
    """A form or a visit to answer."""

    method: Literal["elicitation/create"]
    params: Annotated[Form | Visit, Field(discriminator="mode")]


class SamplingRequest(Strict):
    """A question to the client's model."""

    method: Literal["sampling/createMessage"]
    params: Sampling


class RootsRequest(Strict):
    """A question for the client's roots."""

    method: Literal["roots/list"]
    params: Empty | None = None


InputRequest = Annotated[FormRequest | SamplingRequest | RootsRequest, Field(discriminator="method")]
InputRequests = Annotated[dict[str, InputRequest], Field(min_length=1)]


class InputRequired(Strict):
    """A result that asks first."""

    result_type: Annotated[Literal["input_required"], Field(alias="resultType")]
    requests: Annotated[InputRequests, Field(alias="inputRequests")]
    state: Annotated[str, Field(alias="requestState")]
    meta: Annotated[ServerMeta, Field(alias="_meta")]


class Task(Strict):
    """What every task has."""

    id: Annotated[TaskId, Field(alias="taskId")]
    message: Annotated[str | None, Field(alias="statusMessage")] = None
    created: Annotated[Moment, Field(alias="createdAt")]
    updated: Annotated[Moment, Field(alias="lastUpdatedAt")]
    ttl: Annotated[StrictInt, Field(alias="ttlMs", gt=0)]
    poll: Annotated[StrictInt, Field(alias="pollIntervalMs", gt=0)]


class CreatedTask(Task):
    """The result of a call that became a task: flat, and without any outcome."""

    result_type: Annotated[Literal["task"], Field(alias="resultType")]
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]
    meta: Annotated[ServerMeta, Field(alias="_meta")]


class Working(Task):
    """A task that runs, or is about to."""

    status: Literal["working"]


class Asking(Task):
    """A task that waits for answers."""

    status: Literal["input_required"]
    requests: Annotated[InputRequests, Field(alias="inputRequests")]


class Completed(Task):
    """A task with a result."""

    status: Literal["completed"]
    result: ToolResult


class Failed(Task):
    """A task with an error."""

    status: Literal["failed"]
    error: Error


class Cancelled(Task):
    """A task without any outcome."""

    status: Literal["cancelled"]


class TaskStep(Strict):
    """A step that the tool planned, and where it stands."""

    name: str
    state: Literal["pending", "done", "failed"]


class DetailMeta(ServerMeta):
    """Who answers, and what we tell of a task beyond the protocol."""

    variables: Annotated[dict[str, JsonValue] | None, Field(alias="taskdeck/variables")] = None
    progress: Annotated[TaskProgress | None, Field(alias="taskdeck/progress")] = None
    steps: Annotated[list[TaskStep] | None, Field(alias="taskdeck/steps")] = None


class Got(Strict):
    """What `tasks/get` adds to a task; its result is whole, whatever the task's status."""

    result_type: Annotated[Literal["complete"], Field(alias="resultType")]
    meta: Annotated[DetailMeta, Field(alias="_meta")]


class GotWorking(Got, Working):
    """A task that runs."""


class GotAsking(Got, Asking):
    """A task that asks."""


class GotCompleted(Got, Completed):
    """A task with a result."""


class GotFailed(Got, Failed):
    """A task with an error."""


class GotCancelled(Got, Cancelled):
    """A cancelled task."""


class UpdateMeta(ServerMeta):
    """Who answers, and which answers were of no use."""

    ignored: Annotated[list[str] | None, Field(alias="taskdeck/ignored")] = None


class Updated(Strict):
    """The result of `tasks/update`: empty."""

    result_type: Annotated[Literal["complete"], Field(alias="resultType")]
    meta: Annotated[UpdateMeta, Field(alias="_meta")]


class Prompts(Page):
    """The result of `prompts/list`."""

    prompts: list[Prompt]


class Messages(Complete):
    """The result of `prompts/get`."""

    description: str | None = None
    messages: list[PromptMessage]


class Resources(Page):
    """The result of `resources/list`."""

    resources: list[Resource]


class Templates(Page):
    """The result of `resources/templates/list`."""

    templates: Annotated[list[Template], Field(alias="resourceTemplates")]


class Contents(Cacheable):
    """The result of `resources/read`."""

    contents: Annotated[list[ResourceContents], Field(min_length=1)]


class Completion(Complete):
    """The result of `completion/complete`."""

    completion: Values


class ListenMeta(Strict):
    """Which subscription something belongs to."""

    subscription: Annotated[Id, Field(alias=SUBSCRIPTION)]


class EndMeta(ListenMeta):
    """The same at its end, and perhaps who says so."""

    server: Annotated[Implementation | None, Field(alias=SERVER)] = None


class Ended(Strict):
    """The result of `subscriptions/listen`, when the server ends it."""

    result_type: Annotated[Literal["complete"], Field(alias="resultType")]
    meta: Annotated[EndMeta, Field(alias="_meta")]


class Subscribed(Strict):
    """What was agreed to."""

    task_ids: Annotated[list[TaskId] | None, Field(alias="taskIds")] = None


class Acknowledged(Strict):
    """The first notification of a subscription."""

    notifications: Subscribed
    meta: Annotated[ListenMeta, Field(alias="_meta")]


class NoticeMeta(ListenMeta):
    """Which subscription a task is told on, and what we tell beyond the protocol."""

    variables: Annotated[dict[str, JsonValue] | None, Field(alias="taskdeck/variables")] = None
    progress: Annotated[TaskProgress | None, Field(alias="taskdeck/progress")] = None
    steps: Annotated[list[TaskStep] | None, Field(alias="taskdeck/steps")] = None


class Notice(Strict):
    """What a notification adds to a task."""

    meta: Annotated[NoticeMeta, Field(alias="_meta")]


class WorkingNotice(Notice, Working):
    """A task that runs."""


class AskingNotice(Notice, Asking):
    """A task that asks."""


class CompletedNotice(Notice, Completed):
    """A task with a result."""


class FailedNotice(Notice, Failed):
    """A task with an error."""


class CancelledNotice(Notice, Cancelled):
    """A cancelled task."""


RESULTS: dict[str, Any] = {
    "server/discover": Discovered,
    "tools/list": Tools,
    "tools/call": ToolResult | InputRequired | CreatedTask,
    "tasks/get": Annotated[
        GotWorking | GotAsking | GotCompleted | GotFailed | GotCancelled, Field(discriminator="status")
    ],
    "tasks/update": Updated,
    "tasks/cancel": Complete,
    "prompts/list": Prompts,
    "prompts/get": Messages | InputRequired,
    "resources/list": Resources,
    "resources/templates/list": Templates,
    "resources/read": Contents | InputRequired,
    "completion/complete": Completion,
    "subscriptions/listen": Ended,
}
NOTIFICATIONS: dict[str, Any] = {
    "notifications/progress": Progress,
    "notifications/message": Line,
    "notifications/subscriptions/acknowledged": Acknowledged,
    "notifications/tasks": Annotated[
        WorkingNotice | AskingNotice | CompletedNotice | FailedNotice | CancelledNotice, Field(discriminator="status")
    ],
}
# A server of this revision never asks on a stream.
REQUESTS: dict[str, Any] = {}
