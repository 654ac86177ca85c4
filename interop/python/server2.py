"""The server on the Python SDK 2.x: its low-level server, both eras, over stdio and Streamable HTTP.

The SDK answers `initialize` and modern requests on the same pipe or URL by itself; an
ask is a real request on a legacy connection and an input round on a modern one.
Refuses to know what the tools do: that is `offer.py`.
"""

from __future__ import annotations

import warnings

import offer
from events import Events
from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged

# The legacy features are deprecated in the SDK; serving them is the purpose here.
warnings.simplefilter("ignore", MCPDeprecationWarning)

MODERN = "2026-07-28"


class State:
    """What lives as long as the connection."""

    def __init__(self) -> None:
        self.extra = False
        self.touched = 0
        self.level = "debug"
        self.watched: set[str] = set()
        self.bus = InMemorySubscriptionBus()


class Pending(Exception):
    """An ask without an answer yet: the round ends here."""

    def __init__(self, key: str, request) -> None:
        self.result = types.InputRequiredResult(input_requests={key: request})


def wire(model) -> dict:
    """What the peer sent, as JSON."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


class Io:
    """The connection as the tools see it."""

    def __init__(self, state: State, ctx, answers) -> None:
        self.state, self.session, self.request_id = state, ctx.session, ctx.request_id
        self.modern = ctx.protocol_version >= MODERN
        self.answers = answers or {}

    @property
    def extra(self) -> bool:
        return self.state.extra

    async def ask(self, key: str, request, result_type) -> dict:
        if not self.modern:
            return wire(await self.session.send_request(request, result_type))
        if key not in self.answers:
            raise Pending(key, request)
        return wire(self.answers[key])

    async def elicit(self, message: str, schema: dict) -> dict:
        params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        return await self.ask("who", types.ElicitRequest(params=params), types.ElicitResult)

    async def sample(self, params: dict) -> dict:
        params = types.CreateMessageRequestParams.model_validate(params)
        return await self.ask("model", types.CreateMessageRequest(params=params), types.CreateMessageResult)

    async def roots(self) -> dict:
        return await self.ask("roots", types.ListRootsRequest(), types.ListRootsResult)

    async def progress(self, step: int, total: int, message: str) -> None:
        await self.session.report_progress(step, total, message)

    async def log(self, level: str, data: str) -> None:
        # On legacy connections the SDK leaves the level set by the client to us.
        if self.modern or offer.LEVELS.index(level) >= offer.LEVELS.index(self.state.level):
            await self.session.send_log_message(level, data, "demo", self.request_id)

    async def toggle(self) -> None:
        self.state.extra = not self.state.extra
        await self.state.bus.publish(ToolsListChanged())
        if not self.modern:
            await self.session.send_tool_list_changed()

    async def touch(self) -> None:
        self.state.touched += 1
        await self.state.bus.publish(ResourceUpdated(uri="demo://clock"))
        if "demo://clock" in self.state.watched:
            await self.session.send_resource_updated("demo://clock")


class Handlers:
    """One method per request of the protocol."""

    def __init__(self) -> None:
        self.state = State()

    async def list_tools(self, ctx, params) -> types.ListToolsResult:
        offered = offer.tools(ctx.protocol_version >= MODERN, self.state.extra)
        return types.ListToolsResult.model_validate({"tools": offered})

    async def call_tool(self, ctx, params):
        io = Io(self.state, ctx, params.input_responses)
        try:
            result = await offer.call(params.name, params.arguments or {}, io)
        except Pending as pending:
            return pending.result
        except offer.Refused as refused:
            raise MCPError(refused.code, refused.message) from refused
        return types.CallToolResult.model_validate(result)

    async def list_resources(self, ctx, params) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate({"resources": offer.RESOURCES})

    async def list_templates(self, ctx, params) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": offer.TEMPLATES})

    async def read(self, ctx, params) -> types.ReadResourceResult:
        try:
            result = offer.read(params.uri, self.state.touched, ctx.protocol_version >= MODERN)
        except offer.Refused as refused:
            raise MCPError(refused.code, refused.message) from refused
        return types.ReadResourceResult.model_validate(result)

    async def subscribe(self, ctx, params) -> types.EmptyResult:
        self.state.watched.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, ctx, params) -> types.EmptyResult:
        self.state.watched.discard(params.uri)
        return types.EmptyResult()

    async def list_prompts(self, ctx, params) -> types.ListPromptsResult:
        return types.ListPromptsResult.model_validate({"prompts": offer.PROMPTS})

    async def get_prompt(self, ctx, params) -> types.GetPromptResult:
        try:
            result = offer.prompt(params.name, params.arguments or {})
        except offer.Refused as refused:
            raise MCPError(refused.code, refused.message) from refused
        return types.GetPromptResult.model_validate(result)

    async def complete(self, ctx, params) -> types.CompleteResult:
        result = offer.complete(wire(params.ref), params.argument.name, params.argument.value)
        return types.CompleteResult.model_validate(result)

    async def set_level(self, ctx, params) -> types.EmptyResult:
        self.state.level = params.level
        return types.EmptyResult()


class Offering(Server):
    """The SDK's server with the capability that it does not derive from its handlers."""

    def create_initialization_options(self, *given, **named):
        return super().create_initialization_options(NotificationOptions(tools_changed=True), *given[1:], **named)


def build() -> Server:
    """The server with all its handlers."""
    on = Handlers()
    return Offering(
        "python-sdk-2",
        version="1.0.0",
        instructions=offer.INSTRUCTIONS,
        on_list_tools=on.list_tools,
        on_call_tool=on.call_tool,
        on_list_resources=on.list_resources,
        on_list_resource_templates=on.list_templates,
        on_read_resource=on.read,
        on_subscribe_resource=on.subscribe,
        on_unsubscribe_resource=on.unsubscribe,
        on_subscriptions_listen=ListenHandler(on.state.bus),
        on_list_prompts=on.list_prompts,
        on_get_prompt=on.get_prompt,
        on_completion=on.complete,
        on_set_logging_level=on.set_level,
    )


async def main() -> None:
    """Serves stdin and stdout until the client closes them."""
    server = build()
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def application(stateless: bool):
    """Streamable HTTP at `/mcp`, as the SDK makes it."""
    return build().streamable_http_app(json_response=stateless, stateless_http=stateless, event_store=Events())
