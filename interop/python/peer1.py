"""The Python SDK 1.x as the checks see it: `ClientSession` over each of its client transports.

Legacy era only. The SDK offers no way to cancel a request, only the notification's
type, so the ids that it assigns are read off the stream it writes to.
"""

from __future__ import annotations

from contextlib import asynccontextmanager

import anyio
from checks import ROOTS, Refusal, Wrong, over
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError

ERAS = ["legacy"]


def wire(model) -> dict:
    """What the server sent, as JSON."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def answered(pending) -> dict:
    """The result as JSON, or `Refusal`."""
    try:
        return wire(await pending)
    except McpError as error:
        raise Refusal(error.error.code, error.error.message) from error


class Noting:
    """The write stream, noting the id of each tool call that passes."""

    def __init__(self, stream) -> None:
        self.stream = stream
        self.last_call = None

    async def send(self, message) -> None:
        sent = message.message.root
        if getattr(sent, "method", None) == "tools/call":
            self.last_call = sent.id
        await self.stream.send(message)

    async def __aenter__(self):
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *raised):
        return await self.stream.__aexit__(*raised)

    async def aclose(self) -> None:
        await self.stream.aclose()


class Peer:
    """The connection."""

    modern = False

    def __init__(self) -> None:
        self.logged: list[dict] = []
        self.sampled: list[dict] = []
        self.elicited: list[dict] = []
        self.updated: list[str] = []
        self.changed: list[str] = []
        self.reply: dict = {"action": "cancel"}

    async def on_log(self, params) -> None:
        self.logged.append(wire(params))

    async def on_message(self, message) -> None:
        if isinstance(message, types.ServerNotification):
            if isinstance(message.root, types.ResourceUpdatedNotification):
                self.updated.append(str(message.root.params.uri))
            elif isinstance(message.root, types.ToolListChangedNotification):
                self.changed.append(message.root.method)

    async def on_sample(self, context, params):
        self.sampled.append(wire(params))
        content = types.TextContent(type="text", text="It is 42.")
        return types.CreateMessageResult(role="assistant", content=content, model="a-model", stopReason="endTurn")

    async def on_elicit(self, context, params):
        self.elicited.append(wire(params))
        return types.ElicitResult.model_validate(self.reply)

    async def on_roots(self, context):
        return types.ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in ROOTS]})

    async def hello(self) -> dict:
        told = wire(self.initialized)
        return {
            "version": told["protocolVersion"],
            "server": told["serverInfo"],
            "capabilities": told["capabilities"],
            "instructions": told.get("instructions"),
        }

    async def ping(self) -> None:
        await answered(self.session.send_ping())

    async def pages(self, method, key: str) -> list[dict]:
        """Every page of a list."""
        items: list[dict] = []
        page: dict = {"nextCursor": None}
        while "nextCursor" in page:
            cursor = page["nextCursor"]
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await answered(method(params=params))
            items += page[key]
        return items

    async def list_tools(self) -> list[dict]:
        return await self.pages(self.session.list_tools, "tools")

    async def list_resources(self) -> list[dict]:
        return await self.pages(self.session.list_resources, "resources")

    async def list_templates(self) -> list[dict]:
        return await self.pages(self.session.list_resource_templates, "resourceTemplates")

    async def list_prompts(self) -> list[dict]:
        return await self.pages(self.session.list_prompts, "prompts")

    async def call(self, name: str, arguments: dict, progress: list | None = None) -> dict:
        async def report(done: float, total: float | None, message: str | None) -> None:
            progress.append((done, total, message))

        callback = report if progress is not None else None
        return await answered(self.session.call_tool(name, arguments, progress_callback=callback))

    async def abandon(self, name: str, arguments: dict, after: float) -> str:
        """Calls a tool and cancels the call."""
        answers: list[str] = []

        async def call() -> None:
            try:
                raise Wrong(f"the cancelled call was answered: {await self.call(name, arguments)}")
            except Refusal as refusal:
                # Not asked for by the specification, but some servers do it.
                answers.append(str(refusal))

        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            await anyio.sleep(after)
            params = types.CancelledNotificationParams(requestId=self.writer.last_call, reason="a check")
            await self.session.send_notification(
                types.ClientNotification(types.CancelledNotification(params=params))
            )
            await anyio.sleep(after)
            calls.cancel_scope.cancel()
        return f"notifications/cancelled, by hand; answer: {answers[0] if answers else 'none'}"

    async def read(self, uri: str) -> dict:
        return await answered(self.session.read_resource(uri))

    async def prompt(self, name: str, arguments: dict) -> dict:
        return await answered(self.session.get_prompt(name, arguments))

    async def complete(self, ref: dict, name: str, value: str) -> dict:
        model = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await answered(self.session.complete(model.model_validate(ref), {"name": name, "value": value}))

    async def set_level(self, level: str) -> None:
        await answered(self.session.set_logging_level(level))

    @asynccontextmanager
    async def watching(self, resource: str | None = None, tools: bool = False):
        """The list of changes that come in meanwhile: URIs, or notifications."""
        if resource is not None:
            await answered(self.session.subscribe_resource(resource))
        yield self.changed if tools else self.updated
        if resource is not None:
            await answered(self.session.unsubscribe_resource(resource))


def transport(target: list[str]):
    """The SDK's transport for a command line or a URL."""
    if over(target) == "stdio":
        return stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    return (sse_client if over(target) == "http+sse" else streamable_http_client)(target[0])


@asynccontextmanager
async def connect(target: list[str], era: str, timeout: float):
    """A connected `Peer`."""
    peer = Peer()
    peer.over = over(target)
    # Streamable HTTP adds a third: a way to learn the session's id.
    async with transport(target) as (reader, writer, *_):
        peer.writer = Noting(writer)
        async with ClientSession(
            reader,
            peer.writer,
            sampling_callback=peer.on_sample,
            elicitation_callback=peer.on_elicit,
            list_roots_callback=peer.on_roots,
            logging_callback=peer.on_log,
            message_handler=peer.on_message,
            client_info=types.Implementation(name="python-sdk-1", version="1.0.0"),
        ) as peer.session:
            with anyio.fail_after(timeout):
                peer.initialized = await peer.session.initialize()
            yield peer
