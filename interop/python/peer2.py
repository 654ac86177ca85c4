"""The Python SDK 2.x as the checks see it: its `Client`, in every era it offers.

`--era` is the client's `mode`: `legacy` is the initialize handshake, `modern`
pins 2026-07-28 without a fallback, `auto` probes with server/discover first.
"""

from __future__ import annotations

import warnings
from contextlib import asynccontextmanager

import anyio
from checks import ROOTS, Refusal, Wrong, over
from mcp import Client, StdioServerParameters, types
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.subscriptions import ResourceUpdated

# The legacy features are deprecated in the SDK; calling them is the purpose here.
warnings.simplefilter("ignore", MCPDeprecationWarning)

ERAS = ["auto", "legacy", "modern"]
MODERN = "2026-07-28"


def wire(model) -> dict:
    """What the server sent, as JSON."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def answered(pending) -> dict:
    """The result as JSON, or `Refusal`."""
    try:
        return wire(await pending)
    except MCPError as error:
        raise Refusal(error.code, error.message) from error


class Peer:
    """The connection."""

    def __init__(self) -> None:
        self.logged: list[dict] = []
        self.sampled: list[dict] = []
        self.elicited: list[dict] = []
        self.updated: list[str] = []
        self.changed: list[str] = []
        self.reply: dict = {"action": "cancel"}

    @property
    def modern(self) -> bool:
        return self.client.protocol_version >= MODERN

    async def on_log(self, params) -> None:
        self.logged.append(wire(params))

    async def on_message(self, message) -> None:
        # On modern connections the same events come over the listen stream.
        if self.modern:
            return
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updated.append(message.params.uri)
        elif isinstance(message, types.ToolListChangedNotification):
            self.changed.append(message.method)

    async def on_sample(self, context, params):
        self.sampled.append(wire(params))
        content = types.TextContent(type="text", text="It is 42.")
        return types.CreateMessageResult(role="assistant", content=content, model="a-model", stop_reason="endTurn")

    async def on_elicit(self, context, params):
        self.elicited.append(wire(params))
        return types.ElicitResult.model_validate(self.reply)

    async def on_roots(self, context):
        return types.ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in ROOTS]})

    async def hello(self) -> dict:
        if self.pinned:
            # A pinned client has asked nothing yet; its own idea of the server is empty.
            told = await self.client.session.send_discover(MODERN)
            server = told.get("_meta", {}).get("io.modelcontextprotocol/serverInfo")
            return {
                "version": ",".join(told["supportedVersions"]),
                "server": server,
                "capabilities": told["capabilities"],
                "instructions": told.get("instructions"),
            }
        return {
            "version": self.client.protocol_version,
            "server": wire(self.client.server_info) if self.client.server_info else None,
            "capabilities": wire(self.client.server_capabilities),
            "instructions": self.client.instructions,
        }

    async def ping(self) -> None:
        await answered(self.client.send_ping())

    async def pages(self, method, key: str) -> list[dict]:
        """Every page of a list."""
        items: list[dict] = []
        page: dict = {"nextCursor": None}
        while "nextCursor" in page:
            page = await answered(method(cursor=page["nextCursor"]))
            items += page[key]
        return items

    async def list_tools(self) -> list[dict]:
        return await self.pages(self.client.list_tools, "tools")

    async def list_resources(self) -> list[dict]:
        return await self.pages(self.client.list_resources, "resources")

    async def list_templates(self) -> list[dict]:
        return await self.pages(self.client.list_resource_templates, "resourceTemplates")

    async def list_prompts(self) -> list[dict]:
        return await self.pages(self.client.list_prompts, "prompts")

    async def call(
        self, name: str, arguments: dict, progress: list | None = None, log_level: str | None = None
    ) -> dict:
        async def report(done: float, total: float | None, message: str | None) -> None:
            progress.append((done, total, message))

        callback = report if progress is not None else None
        meta = {types.LOG_LEVEL_META_KEY: log_level} if log_level else None
        return await answered(self.client.call_tool(name, arguments, progress_callback=callback, meta=meta))

    async def abandon(self, name: str, arguments: dict, after: float) -> str:
        """Calls a tool and abandons the call, which the SDK turns into a cancellation."""
        with anyio.move_on_after(after):
            raise Wrong(f"answered before the cancellation: {await self.call(name, arguments)}")
        return "notifications/cancelled, sent by the SDK for an abandoned call"

    async def read(self, uri: str) -> dict:
        return await answered(self.client.read_resource(uri))

    async def prompt(self, name: str, arguments: dict) -> dict:
        return await answered(self.client.get_prompt(name, arguments))

    async def complete(self, ref: dict, name: str, value: str) -> dict:
        model = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await answered(self.client.complete(model.model_validate(ref), {"name": name, "value": value}))

    async def set_level(self, level: str) -> None:
        await answered(self.client.set_logging_level(level))

    @asynccontextmanager
    async def watching(self, resource: str | None = None, tools: bool = False):
        """The list of changes that come in meanwhile: URIs, or notifications."""
        inbox = self.changed if tools else self.updated
        if self.modern:
            async with self.listening(inbox, resource, tools):
                yield inbox
            return
        if resource is not None:
            await answered(self.client.subscribe_resource(resource))
        yield inbox
        if resource is not None:
            await answered(self.client.unsubscribe_resource(resource))

    @asynccontextmanager
    async def listening(self, inbox: list, resource: str | None, tools: bool):
        """Copies the events of a listen stream into the inbox."""
        wanted = [resource] if resource else []
        async with self.client.listen(tools_list_changed=tools, resource_subscriptions=wanted) as stream:

            async def copy() -> None:
                async for event in stream:
                    inbox.append(event.uri if isinstance(event, ResourceUpdated) else type(event).__name__)

            async with anyio.create_task_group() as copying:
                copying.start_soon(copy)
                yield
                copying.cancel_scope.cancel()


@asynccontextmanager
async def connect(target: list[str], era: str, timeout: float):
    """A connected `Peer`; the target is a command line or a URL."""
    peer = Peer()
    peer.over = over(target)
    peer.pinned = era == "modern"
    async with Client(
        target[0] if peer.over == "http" else StdioServerParameters(command=target[0], args=target[1:]),
        mode=MODERN if era == "modern" else era,
        read_timeout_seconds=timeout,
        sampling_callback=peer.on_sample,
        elicitation_callback=peer.on_elicit,
        list_roots_callback=peer.on_roots,
        logging_callback=peer.on_log,
        message_handler=peer.on_message,
        client_info=types.Implementation(name="python-sdk-2", version="1.0.0"),
    ) as peer.client:
        yield peer
