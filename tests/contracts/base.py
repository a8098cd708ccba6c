"""What both revisions of the protocol share: content, tools, prompts, resources, forms, and the envelope around it all.

Our own reading of the specifications, as strict as can be: an unknown member is a fault, and so is a wrong type.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictFloat, StrictInt, StrictStr

Meta = dict[str, JsonValue]
Id = StrictStr | StrictInt
Number = StrictInt | StrictFloat
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
TaskId = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]*={0,2}$")]
Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class Strict(BaseModel):
    """Nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=False)


class Empty(Strict):
    """An object without members."""


class Error(Strict):
    """Why a request failed."""

    code: StrictInt
    message: Annotated[str, Field(min_length=1)]
    data: JsonValue = None


class ErrorResponse(Strict):
    """The response to a request that failed; without a readable id it is null."""

    jsonrpc: Literal["2.0"]
    id: Id | None
    error: Error


class Refusal(Strict):
    """What HTTP itself says when it refuses, before there is any JSON-RPC."""

    error: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    error_description: Annotated[str, Field(min_length=1)]


class Metadata(Strict):
    """What a client may know about our tokens (RFC 9728)."""

    resource: str
    servers: Annotated[list[str], Field(alias="authorization_servers", min_length=1)]
    scopes: Annotated[list[str], Field(alias="scopes_supported")]
    methods: Annotated[list[Literal["header"]], Field(alias="bearer_methods_supported")]
    name: Annotated[str, Field(alias="resource_name")]


class Annotations(Strict):
    """Hints on content."""

    audience: list[Literal["user", "assistant"]] | None = None
    priority: Number | None = None
    last_modified: Annotated[str | None, Field(alias="lastModified")] = None


class Block(Strict):
    """What every block of content may have."""

    annotations: Annotations | None = None
    meta: Annotated[Meta | None, Field(alias="_meta")] = None


class TextBlock(Block):
    """Words."""

    type: Literal["text"]
    text: str


class MediaBlock(Block):
    """A picture or a sound."""

    type: Literal["image", "audio"]
    data: Base64
    mime_type: Annotated[str, Field(alias="mimeType")]


class ResourceContents(Strict):
    """What stands at an address: text or bytes."""

    uri: str
    mime_type: Annotated[str | None, Field(alias="mimeType")] = None
    text: str | None = None
    blob: Base64 | None = None
    meta: Annotated[Meta | None, Field(alias="_meta")] = None


class ResourceBlock(Block):
    """A resource within content."""

    type: Literal["resource"]
    resource: ResourceContents


class LinkBlock(Block):
    """A pointer to a resource."""

    type: Literal["resource_link"]
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: Annotated[str | None, Field(alias="mimeType")] = None
    size: StrictInt | None = None


Content = Annotated[TextBlock | MediaBlock | ResourceBlock | LinkBlock, Field(discriminator="type")]


class Implementation(Strict):
    """What a server calls itself."""

    name: str
    title: str | None = None
    version: str


class Changes(Strict):
    """Whether a list changes; ours never do."""

    list_changed: Annotated[Literal[False], Field(alias="listChanged")]


class InputSchema(BaseModel):
    """A JSON Schema whose root is an object; everything else about it is free."""

    model_config = ConfigDict(extra="allow", strict=True)

    type: Literal["object"]
    properties: dict[str, Any] | None = None
    required: list[str] | None = None


class ToolAnnotations(Strict):
    """Hints on a tool."""

    title: str | None = None
    read_only: Annotated[bool | None, Field(alias="readOnlyHint")] = None
    destructive: Annotated[bool | None, Field(alias="destructiveHint")] = None
    idempotent: Annotated[bool | None, Field(alias="idempotentHint")] = None
    open_world: Annotated[bool | None, Field(alias="openWorldHint")] = None


class Tool(Strict):
    """A tool on offer."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]
    title: str | None = None
    description: str
    input_schema: Annotated[InputSchema, Field(alias="inputSchema")]
    output_schema: Annotated[InputSchema | None, Field(alias="outputSchema")] = None
    annotations: ToolAnnotations | None = None


class PromptArgument(Strict):
    """An argument of a prompt."""

    name: str
    description: str | None = None
    required: bool


class Prompt(Strict):
    """A prompt on offer."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument]


class PromptMessage(Strict):
    """One message of a prompt."""

    role: Literal["user", "assistant"]
    content: Content


class Described(Strict):
    """What a resource says about itself."""

    name: str
    title: str | None = None
    description: str | None = None
    mime_type: Annotated[str | None, Field(alias="mimeType")] = None


class Resource(Described):
    """A resource with a fixed address."""

    uri: str


class Template(Described):
    """A resource with variables in its address."""

    uri_template: Annotated[str, Field(alias="uriTemplate")]


class Values(Strict):
    """What an argument may become."""

    values: Annotated[list[str], Field(max_length=100)]
    total: StrictInt
    has_more: Annotated[bool, Field(alias="hasMore")]


class FormSchema(Strict):
    """A flat form; the domain's own tests know its fields."""

    type: Literal["object"]
    properties: dict[str, dict[str, JsonValue]]
    required: list[str] | None = None


class Form(Strict):
    """The parameters of a form."""

    mode: Literal["form"]
    message: str
    requested_schema: Annotated[FormSchema, Field(alias="requestedSchema")]


class Visit(Strict):
    """The parameters of a visit."""

    mode: Literal["url"]
    message: str
    url: str


class SamplingMessage(Strict):
    """One message for the client's model."""

    role: Literal["user", "assistant"]
    content: TextBlock | MediaBlock


class Sampling(Strict):
    """The parameters of a question to the client's model."""

    messages: Annotated[list[SamplingMessage], Field(min_length=1)]
    max_tokens: Annotated[StrictInt, Field(alias="maxTokens")]
    system_prompt: Annotated[str | None, Field(alias="systemPrompt")] = None
    temperature: Number | None = None


class Progress(Strict):
    """How far a tool is."""

    token: Annotated[Id, Field(alias="progressToken")]
    progress: Number
    total: Number | None = None
    message: str | None = None


class Line(Strict):
    """A line that a tool wrote."""

    level: Level
    logger: str
    data: JsonValue
