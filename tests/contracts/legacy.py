"""Every message that a server of 2025-11-25, and of the handshake revisions before it, sends us in the tests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StrictInt

from tests.contracts.base import (
    Changes,
    Content,
    Empty,
    Form,
    FormSchema,
    Implementation,
    Line,
    Meta,
    Moment,
    Number,
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

Versions = Literal["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


class Watched(Changes):
    """Resources, which can be watched."""

    subscribe: Literal[True]


class ToolRequests(Strict):
    """Which requests about tools can be tasks."""

    call: Empty


class TaskRequests(Strict):
    """Which requests can be tasks."""

    tools: ToolRequests


class TasksCapability(Strict):
    """What can be done with tasks."""

    listing: Annotated[Empty | None, Field(alias="list")] = None
    cancel: Empty
    requests: TaskRequests


class Capabilities(Strict):
    """What the server can do; extensions do not exist here."""

    tools: Changes
    logging: Empty
    prompts: Changes | None = None
    resources: Watched | None = None
    completions: Empty | None = None
    tasks: TasksCapability | None = None


class Initialized(Strict):
    """The result of `initialize`."""

    version: Annotated[Versions, Field(alias="protocolVersion")]
    capabilities: Capabilities
    server: Annotated[Implementation, Field(alias="serverInfo")]
    instructions: str


class Execution(Strict):
    """Whether a tool can be a task; one that cannot says nothing."""

    support: Annotated[Literal["optional", "required"], Field(alias="taskSupport")]


class LegacyTool(Tool):
    """A tool that tells whether it can be a task."""

    execution: Execution | None = None


class Page(Strict):
    """A page of something."""

    cursor: Annotated[str | None, Field(alias="nextCursor")] = None


class Tools(Page):
    """The result of `tools/list`."""

    tools: list[LegacyTool]


class TaskProgress(Strict):
    """How far a task is, under our own name."""

    done: Number
    total: Number | None = None


class TaskStep(Strict):
    """A step that the tool planned, and where it stands."""

    name: str
    state: Literal["pending", "done", "failed"]


class TaskMeta(Strict):
    """What we tell of a task beyond the protocol."""

    variables: Annotated[dict[str, JsonValue] | None, Field(alias="taskdeck/variables")] = None
    progress: Annotated[TaskProgress | None, Field(alias="taskdeck/progress")] = None
    steps: Annotated[list[TaskStep] | None, Field(alias="taskdeck/steps")] = None


class Task(Strict):
    """A task; its lifetime is a member that must be there."""

    id: Annotated[TaskId, Field(alias="taskId")]
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]
    message: Annotated[str | None, Field(alias="statusMessage")] = None
    created: Annotated[Moment, Field(alias="createdAt")]
    updated: Annotated[Moment, Field(alias="lastUpdatedAt")]
    ttl: Annotated[StrictInt, Field(gt=0)]
    poll: Annotated[StrictInt, Field(alias="pollInterval", gt=0)]
    meta: Annotated[TaskMeta | None, Field(alias="_meta")] = None


class CreatedTask(Strict):
    """The result of a call that became a task."""

    task: Task


class ToolResult(Strict):
    """What a tool returned."""

    content: list[Content]
    structured: Annotated[dict[str, JsonValue] | None, Field(alias="structuredContent")] = None
    is_error: Annotated[bool, Field(alias="isError")] = False
    meta: Annotated[Meta | None, Field(alias="_meta")] = None


class Related(Strict):
    """The task that something belongs to."""

    id: Annotated[TaskId, Field(alias="taskId")]


class RelatedMeta(Strict):
    """Nothing but the task that something belongs to."""

    related: Annotated[Related, Field(alias="io.modelcontextprotocol/related-task")]


class TaskResult(ToolResult):
    """The result of `tasks/result`: the same, and which task it is of."""

    meta: Annotated[dict[str, Any], Field(alias="_meta")]

    def model_post_init(self, _context: Any) -> None:
        """The task must be named, beside whatever the tool noted itself."""
        Related.model_validate(self.meta["io.modelcontextprotocol/related-task"])


class Tasks(Page):
    """The result of `tasks/list`."""

    tasks: list[Task]


class Prompts(Page):
    """The result of `prompts/list`."""

    prompts: list[Prompt]


class Messages(Strict):
    """The result of `prompts/get`."""

    description: str | None = None
    messages: list[PromptMessage]


class Resources(Page):
    """The result of `resources/list`."""

    resources: list[Resource]


class Templates(Page):
    """The result of `resources/templates/list`."""

    templates: Annotated[list[Template], Field(alias="resourceTemplates")]


class Contents(Strict):
    """The result of `resources/read`."""

    contents: Annotated[list[ResourceContents], Field(min_length=1)]


class Completion(Strict):
    """The result of `completion/complete`."""

    completion: Values


class RelatedForm(Form):
    """A form that a task asks for."""

    meta: Annotated[RelatedMeta | None, Field(alias="_meta")] = None


class OldForm(Strict):
    """A form as it was before there were modes."""

    message: str
    requested_schema: Annotated[FormSchema, Field(alias="requestedSchema")]


class RelatedVisit(Visit):
    """A visit that a task asks for."""

    elicitation_id: Annotated[str, Field(alias="elicitationId")]
    meta: Annotated[RelatedMeta | None, Field(alias="_meta")] = None


class RelatedSampling(Sampling):
    """A question to the client's model that a task asks."""

    meta: Annotated[RelatedMeta | None, Field(alias="_meta")] = None


class RootsParams(Strict):
    """A question for the client's roots that a task asks."""

    meta: Annotated[RelatedMeta | None, Field(alias="_meta")] = None


class RelatedProgress(Progress):
    """How far a tool or a task is."""

    meta: Annotated[RelatedMeta | None, Field(alias="_meta")] = None


class RelatedLine(Line):
    """A line of a tool or of a task."""

    meta: Annotated[RelatedMeta | None, Field(alias="_meta")] = None


RESULTS: dict[str, Any] = {
    "initialize": Initialized,
    "ping": Empty,
    "logging/setLevel": Empty,
    "tools/list": Tools,
    "tools/call": ToolResult | CreatedTask,
    "tasks/get": Task,
    "tasks/result": TaskResult,
    "tasks/list": Tasks,
    "tasks/cancel": Task,
    "prompts/list": Prompts,
    "prompts/get": Messages,
    "resources/list": Resources,
    "resources/templates/list": Templates,
    "resources/read": Contents,
    "resources/subscribe": Empty,
    "resources/unsubscribe": Empty,
    "completion/complete": Completion,
    # The rest of a stream that broke off.
    "GET": ToolResult | TaskResult,
}
NOTIFICATIONS: dict[str, Any] = {
    "notifications/progress": RelatedProgress,
    "notifications/message": RelatedLine,
    "notifications/tasks/status": Task,
}
REQUESTS: dict[str, Any] = {
    "elicitation/create": RelatedForm | RelatedVisit | OldForm,
    "sampling/createMessage": RelatedSampling,
    "roots/list": RootsParams,
}
