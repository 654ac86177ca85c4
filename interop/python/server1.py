"""The server on the Python SDK 1.x: its low-level server, legacy era only, over stdio, Streamable HTTP and HTTP+SSE.

Handlers go into the server's own table rather than through its decorators: the
`call_tool` decorator turns every exception into an `isError` result, and an
unknown tool is a protocol error. Refuses to know what the tools do: `offer.py`.
"""

from __future__ import annotations

import offer
from events import Events
from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import McpError
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route


def wire(model) -> dict:
    """What the peer sent, as JSON."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


class Demo:
    """The server's state, its handlers, and the connection as the tools see it (`io` of offer.call)."""

    modern = False

    def __init__(self, server: Server) -> None:
        self.server = server
        self.extra = False
        self.touched = 0
        self.level = "debug"
        self.watched: set[str] = set()

    @property
    def context(self):
        """The request being handled."""
        return self.server.request_context

    async def elicit(self, message: str, schema: dict) -> dict:
        ctx = self.context
        return wire(await ctx.session.elicit(message, schema, ctx.request_id))

    async def sample(self, params: dict) -> dict:
        messages = [types.SamplingMessage.model_validate(m) for m in params["messages"]]
        return wire(await self.context.session.create_message(messages, max_tokens=params["maxTokens"]))

    async def roots(self) -> dict:
        return wire(await self.context.session.list_roots())

    async def progress(self, step: int, total: int, message: str) -> None:
        ctx = self.context
        if ctx.meta is not None and ctx.meta.progressToken is not None:
            await ctx.session.send_progress_notification(
                ctx.meta.progressToken, step, total, message, related_request_id=str(ctx.request_id)
            )

    async def log(self, level: str, data: str) -> None:
        if offer.LEVELS.index(level) >= offer.LEVELS.index(self.level):
            ctx = self.context
            await ctx.session.send_log_message(level, data, "demo", ctx.request_id)

    async def toggle(self) -> None:
        self.extra = not self.extra
        await self.context.session.send_tool_list_changed()

    async def touch(self) -> None:
        self.touched += 1
        if "demo://clock" in self.watched:
            await self.context.session.send_resource_updated("demo://clock")

    async def list_tools(self, request) -> dict:
        return {"tools": offer.tools(False, self.extra)}

    async def call_tool(self, request) -> dict:
        return await offer.call(request.params.name, request.params.arguments or {}, self)

    async def list_resources(self, request) -> dict:
        return {"resources": offer.RESOURCES}

    async def list_templates(self, request) -> dict:
        return {"resourceTemplates": offer.TEMPLATES}

    async def read(self, request) -> dict:
        return offer.read(str(request.params.uri), self.touched, False)

    async def subscribe(self, request) -> dict:
        self.watched.add(str(request.params.uri))
        return {}

    async def unsubscribe(self, request) -> dict:
        self.watched.discard(str(request.params.uri))
        return {}

    async def list_prompts(self, request) -> dict:
        return {"prompts": offer.PROMPTS}

    async def get_prompt(self, request) -> dict:
        return offer.prompt(request.params.name, request.params.arguments or {})

    async def complete(self, request) -> dict:
        params = request.params
        return offer.complete(wire(params.ref), params.argument.name, params.argument.value)

    async def set_level(self, request) -> dict:
        self.level = request.params.level
        return {}


def register(server: Server, request_type: type, result_type: type, handler) -> None:
    """Puts a handler of wire results into the server's table."""

    async def typed(request) -> types.ServerResult:
        try:
            return types.ServerResult(result_type.model_validate(await handler(request)))
        except offer.Refused as refused:
            raise McpError(types.ErrorData(code=refused.code, message=refused.message)) from refused

    server.request_handlers[request_type] = typed


class Offering(Server):
    """The SDK's server with the capabilities that it does not derive from its handlers."""

    def create_initialization_options(self, *given, **named):
        changes = NotificationOptions(tools_changed=True)
        options = super().create_initialization_options(changes, *given[1:], **named)
        options.capabilities.resources.subscribe = True
        return options


def build() -> Server:
    """The server with all its handlers."""
    server = Offering("python-sdk-1", version="1.0.0", instructions=offer.INSTRUCTIONS)
    demo = Demo(server)
    for request_type, result_type, handler in [
        (types.ListToolsRequest, types.ListToolsResult, demo.list_tools),
        (types.CallToolRequest, types.CallToolResult, demo.call_tool),
        (types.ListResourcesRequest, types.ListResourcesResult, demo.list_resources),
        (types.ListResourceTemplatesRequest, types.ListResourceTemplatesResult, demo.list_templates),
        (types.ReadResourceRequest, types.ReadResourceResult, demo.read),
        (types.SubscribeRequest, types.EmptyResult, demo.subscribe),
        (types.UnsubscribeRequest, types.EmptyResult, demo.unsubscribe),
        (types.ListPromptsRequest, types.ListPromptsResult, demo.list_prompts),
        (types.GetPromptRequest, types.GetPromptResult, demo.get_prompt),
        (types.CompleteRequest, types.CompleteResult, demo.complete),
        (types.SetLevelRequest, types.EmptyResult, demo.set_level),
    ]:
        register(server, request_type, result_type, handler)
    return server


async def main() -> None:
    """Serves stdin and stdout until the client closes them."""
    server = build()
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


class StreamableHttp:
    """The endpoint of Streamable HTTP; a class, because Starlette would take a function for a handler."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self.sessions = sessions

    async def __call__(self, scope, receive, send) -> None:
        await self.sessions.handle_request(scope, receive, send)


def application(stateless: bool) -> Starlette:
    """Both transports over HTTP, on one server and its state."""
    server = build()
    loopback = TransportSecuritySettings(allowed_hosts=["127.0.0.1:*"], allowed_origins=["http://127.0.0.1:*"])
    sessions = StreamableHTTPSessionManager(
        server, Events(), json_response=stateless, stateless=stateless, security_settings=loopback
    )
    sse = SseServerTransport("/messages/", security_settings=loopback)

    async def events(request) -> Response:
        # The private member is how the SDK documents it: Starlette has no public way to the channel.
        async with sse.connect_sse(request.scope, request.receive, request._send) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
        return Response()

    return Starlette(
        routes=[
            Route("/mcp", StreamableHttp(sessions)),
            Route("/sse", events),
            Mount("/messages/", sse.handle_post_message),
        ],
        lifespan=lambda _: sessions.run(),
    )
