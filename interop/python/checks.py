"""The fixed list of checks, on wire JSON, for both Python SDKs.

A check is a coroutine over a connected `peer` (peer1.py, peer2.py); it returns a
detail, raises `Wrong` (or anything else) when the server did the wrong thing and
`Absent` when the SDK or the era has no such feature. Knows no SDK.
"""

from __future__ import annotations

import base64
import json

import anyio

CHECKS: dict = {}
TOOLS = {
    "echo", "add", "weather", "greet", "ask_model", "list_roots", "countdown",
    "log_lines", "sleep", "kinds", "fail", "toggle", "touch",
}  # fmt: skip
# Where a stream cannot be taken up again, and why.
NOT_RESUMABLE = {
    "stdio": "a pipe that broke is gone",
    "http+sse": "HTTP+SSE cannot take up a stream again",
    "modern": "2026-07-28 cannot take up a stream again",
}
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
ROOTS = ["file:///srv/one", "file:///srv/two"]
CLOCK = "demo://clock"


class Wrong(Exception):
    """The server did something else than the contract says."""


class Absent(Exception):
    """The peer's SDK, or this era, has no such feature."""


class Refusal(Exception):
    """A JSON-RPC error from the server."""

    def __init__(self, code: int, message: str):
        super().__init__(f"{code} {message}")
        self.code = code


def over(target: list[str]) -> str:
    """The transport to a command line or a URL; a URL of HTTP+SSE ends in `/sse`."""
    if not target[0].startswith("http://"):
        return "stdio"
    return "http+sse" if target[0].endswith("/sse") else "http"


def expect(held: bool, what: str, got: object) -> None:
    """Raises `Wrong` unless it held."""
    if not held:
        raise Wrong(f"{what}; got {json.dumps(got, default=str)[:400]}")


def check(name: str):
    """Registers a check under its exact name."""

    def register(run):
        CHECKS[name] = run
        return run

    return register


async def refused(pending, codes: set[int]) -> str:
    """Expects a JSON-RPC error with one of these codes."""
    try:
        result = await pending
    except Refusal as refusal:
        expect(refusal.code in codes, f"an error with a code of {sorted(codes)}", str(refusal))
        return str(refusal)
    raise Wrong(f"expected an error; got {json.dumps(result, default=str)[:400]}")


def said(result: dict) -> str:
    """The text of a result's only block."""
    content = result["content"]
    expect(len(content) == 1 and content[0]["type"] == "text", "one text block", content)
    return content[0]["text"]


async def arrived(inbox: list, count: int) -> list:
    """What has come in, after waiting at most two seconds for `count` of it."""
    with anyio.move_on_after(2):
        while len(inbox) < count:
            await anyio.sleep(0.01)
    return inbox


@check("handshake")
async def handshake(peer) -> str:
    hello = await peer.hello()
    expect(bool(hello["instructions"]), "instructions", hello)
    expect(bool(hello["server"] and hello["server"]["name"]), "a server name", hello)
    offered = hello["capabilities"]
    for capability in ("tools", "resources", "prompts", "completions", "logging"):
        expect(capability in offered, f"capability {capability}", offered)
    expect(offered["tools"].get("listChanged") is True, "tools.listChanged", offered)
    expect(offered["resources"].get("subscribe") is True, "resources.subscribe", offered)
    return f"{hello['server']['name']} {hello['server']['version']}, {hello['version']}"


@check("ping")
async def ping(peer) -> str:
    if peer.modern:
        raise Absent("2026-07-28 has no ping")
    await peer.ping()
    return ""


@check("tools/list")
async def tools_list(peer) -> str:
    listed = {tool["name"]: tool for tool in await peer.list_tools()}
    expect(TOOLS <= listed.keys(), "every tool of the contract", sorted(listed))
    expect("extra" not in listed, "no tool `extra` yet", sorted(listed))
    expect(all(t["inputSchema"]["type"] == "object" for t in listed.values()), "object schemas", listed)
    expect(listed["echo"].get("annotations", {}).get("readOnlyHint") is True, "echo read-only", listed["echo"])
    expect("outputSchema" in listed["add"] and "outputSchema" in listed["weather"], "output schemas", listed)
    return f"{len(listed)} tools"


@check("tools/call echo")
async def call_echo(peer) -> str:
    message = 'zwölf Boxkämpfer 🥊\n"quoted"'
    result = await peer.call("echo", {"message": message})
    expect(said(result) == message, "the message itself", result)
    return ""


@check("tools/call add structured")
async def call_add(peer) -> str:
    # A server of the older era wraps what is no object, also behind a bridge; the list of tools says so.
    tool = next(tool for tool in await peer.list_tools() if tool["name"] == "add")
    result = await peer.call("add", {"a": 1, "b": 2})
    expect(said(result) == "3", "the text 3", result)
    wanted = {"result": 3} if tool.get("outputSchema", {}).get("type") == "object" else 3
    expect(peer.modern or isinstance(wanted, dict), "an object", tool)
    expect(result.get("structuredContent") == wanted, f"structuredContent {wanted}", result)
    return json.dumps(wanted)


@check("tools/call weather structured")
async def call_weather(peer) -> str:
    result = await peer.call("weather", {"city": "Bern"})
    wanted = {"city": "Bern", "celsius": 21.5, "sky": "clear"}
    expect(result.get("structuredContent") == wanted, f"structuredContent {wanted}", result)
    expect(json.loads(said(result)) == wanted, "its mirror as text", result)
    return ""


@check("tools/call fail isError")
async def call_fail(peer) -> str:
    result = await peer.call("fail", {"message": "no luck"})
    expect(result.get("isError") is True and said(result) == "no luck", "an error result", result)
    return ""


@check("tools/call kinds")
async def call_kinds(peer) -> str:
    content = (await peer.call("kinds", {}))["content"]
    kinds = [block["type"] for block in content]
    expect(set(kinds) == {"text", "image", "audio", "resource_link", "resource"}, "five kinds", kinds)
    by_kind = {block["type"]: block for block in content}
    expect(by_kind["image"]["mimeType"] == "image/png", "a PNG", by_kind["image"])
    expect(by_kind["audio"]["mimeType"] == "audio/wav", "a WAV", by_kind["audio"])
    expect(by_kind["resource_link"]["uri"] == "demo://readme", "a link to the readme", by_kind["resource_link"])
    expect(bool(by_kind["resource"]["resource"]["text"]), "an embedded text", by_kind["resource"])
    return ", ".join(kinds)


@check("tools/call unknown tool error")
async def call_unknown(peer) -> str:
    return await refused(peer.call("no_such_tool", {}), {-32602})


@check("resources/list")
async def resources_list(peer) -> str:
    listed = {r["uri"]: r for r in await peer.list_resources()}
    wanted = {"demo://readme": "text/markdown", "demo://logo.png": "image/png", CLOCK: "text/plain"}
    for uri, mime_type in wanted.items():
        expect(listed.get(uri, {}).get("mimeType") == mime_type, f"{uri} as {mime_type}", listed)
    return f"{len(listed)} resources"


@check("resources/read text")
async def read_text(peer) -> str:
    (content,) = (await peer.read("demo://readme"))["contents"]
    expect(content["uri"] == "demo://readme" and content["mimeType"] == "text/markdown", "the readme", content)
    expect(bool(content["text"]), "a text", content)
    return ""


@check("resources/read blob")
async def read_blob(peer) -> str:
    (content,) = (await peer.read("demo://logo.png"))["contents"]
    blob = base64.b64decode(content["blob"], validate=True)
    expect(blob.startswith(b"\x89PNG\r\n\x1a\n"), "a PNG", content)
    sizes = [r.get("size") for r in await peer.list_resources() if r["uri"] == "demo://logo.png"]
    expect(sizes == [len(blob)], f"the listed size {sizes}", len(blob))
    return f"{len(blob)} bytes"


@check("resources/read missing error")
async def read_missing(peer) -> str:
    return await refused(peer.read("demo://nothing"), {-32602} if peer.modern else {-32602, -32002})


@check("resources/templates/list")
async def templates_list(peer) -> str:
    listed = {t["uriTemplate"]: t for t in await peer.list_templates()}
    expect(listed.get("demo://notes/{id}", {}).get("name") == "note", "the template of notes", listed)
    return f"{len(listed)} templates"


@check("resources/read template")
async def read_template(peer) -> str:
    (content,) = (await peer.read("demo://notes/beta"))["contents"]
    expect(content["text"] == "note beta" and content["uri"] == "demo://notes/beta", "note beta", content)
    await refused(peer.read("demo://notes/omega"), {-32602} if peer.modern else {-32602, -32002})
    return ""


@check("resources/subscribe updated")
async def subscribe(peer) -> str:
    async with peer.watching(resource=CLOCK) as inbox:
        await peer.call("touch", {})
        expect(CLOCK in await arrived(inbox, 1), f"an update of {CLOCK}", inbox)
    inbox.clear()
    await peer.call("touch", {})
    await anyio.sleep(0.3)
    expect(not inbox, "silence after unsubscribing", inbox)
    return "subscriptions/listen" if peer.modern else "resources/subscribe"


@check("prompts/list")
async def prompts_list(peer) -> str:
    listed = {p["name"]: p for p in await peer.list_prompts()}
    expect({"greeting", "review"} <= listed.keys(), "greeting and review", sorted(listed))
    arguments = {a["name"]: bool(a.get("required")) for a in listed["greeting"]["arguments"]}
    expect(arguments == {"name": True, "style": False}, "arguments of greeting", arguments)
    return f"{len(listed)} prompts"


@check("prompts/get")
async def prompts_get(peer) -> str:
    (message,) = (await peer.prompt("greeting", {"name": "Ada"}))["messages"]
    expect(message["role"] == "user" and "Ada" in message["content"]["text"], "a greeting of Ada", message)
    messages = (await peer.prompt("review", {"code": "let x = 1;"}))["messages"]
    expect([m["role"] for m in messages] == ["user", "assistant"], "user and assistant", messages)
    expect("let x = 1;" in messages[0]["content"]["text"], "the code", messages)
    return ""


@check("prompts/get missing argument error")
async def prompts_get_missing(peer) -> str:
    return await refused(peer.prompt("greeting", {}), {-32602})


@check("completion prompt")
async def completion_prompt(peer) -> str:
    result = await peer.complete({"type": "ref/prompt", "name": "greeting"}, "style", "f")
    values = result["completion"]["values"]
    expect(sorted(values) == ["formal", "friendly"], "formal and friendly", values)
    return ""


@check("completion template")
async def completion_template(peer) -> str:
    result = await peer.complete({"type": "ref/resource", "uri": "demo://notes/{id}"}, "id", "a")
    values = result["completion"]["values"]
    expect(values == ["alpha"], "alpha", values)
    return ""


@check("logging setLevel + messages")
async def logging(peer) -> str:
    for level in ("warning", "debug"):
        wanted = LEVELS[LEVELS.index(level) :]
        peer.logged.clear()
        if peer.modern:
            await peer.call("log_lines", {}, log_level=level)
        else:
            await peer.set_level(level)
            await peer.call("log_lines", {})
        heard = [m for m in await arrived(peer.logged, len(wanted)) if m.get("logger") == "demo"]
        expect([m["level"] for m in heard] == wanted, f"levels from {level} up", heard)
    if peer.modern:
        peer.logged.clear()
        await peer.call("log_lines", {})
        await anyio.sleep(0.2)
        expect(not peer.logged, "silence without an opt-in", peer.logged)
    return "logLevel of each request" if peer.modern else "logging/setLevel"


@check("progress")
async def progress(peer) -> str:
    heard: list = []
    result = await peer.call("countdown", {"steps": 5, "delay_ms": 10}, progress=heard)
    expect(said(result) == "liftoff", "liftoff", result)
    wanted = [(step, 5, f"{step} of 5") for step in range(1, 6)]
    expect(await arrived(heard, 5) == wanted, "five reports in order", heard)
    return ""


@check("cancel")
async def cancel(peer) -> str:
    how = await peer.abandon("sleep", {"ms": 60_000}, after=0.3)
    expect(said(await peer.call("echo", {"message": "still here"})) == "still here", "an answer after it", "")
    return how


@check("sampling")
async def sampling(peer) -> str:
    result = await peer.call("ask_model", {"question": "How much is six times seven?"})
    (request,) = peer.sampled
    expect(request["maxTokens"] == 100, "maxTokens 100", request)
    expect("six times seven" in json.dumps(request["messages"]), "the question", request)
    expect(said(result) == "It is 42.", "the model's words", result)
    return ""


@check("elicitation accept")
async def elicitation_accept(peer) -> str:
    peer.reply = {"action": "accept", "content": {"name": "Ada"}}
    result = await peer.call("greet", {"greeting": "Hello"})
    expect(said(result) == "Hello, Ada!", "Hello, Ada!", result)
    expect("name" in peer.elicited[-1]["requestedSchema"]["properties"], "a form with a name", peer.elicited)
    return ""


@check("elicitation decline")
async def elicitation_decline(peer) -> str:
    peer.reply = {"action": "decline"}
    result = await peer.call("greet", {"greeting": "Hello"})
    expect(result.get("isError") is True, "an error result", result)
    return said(result)


@check("roots")
async def roots(peer) -> str:
    content = (await peer.call("list_roots", {}))["content"]
    expect([block["text"] for block in content] == ROOTS, "both roots", content)
    return ""


@check("list_changed")
async def list_changed(peer) -> str:
    async with peer.watching(tools=True) as inbox:
        for present in (True, False):
            inbox.clear()
            await peer.call("toggle", {})
            expect(bool(await arrived(inbox, 1)), "a notification", inbox)
            names = [tool["name"] for tool in await peer.list_tools()]
            expect(("extra" in names) == present, f"extra {'listed' if present else 'gone'}", names)
            if present:
                expect(said(await peer.call("extra", {})) == "extra", "a call of extra", "")
    return "subscriptions/listen" if peer.modern else "notifications/tools/list_changed"


@check("resume")
async def resume(peer) -> str:
    over = "modern" if peer.modern else peer.over
    if over in NOT_RESUMABLE:
        raise Absent(NOT_RESUMABLE[over])
    heard: list = []
    # The relay breaks the connection in the middle of the third report.
    result = await peer.call("countdown", {"steps": 7, "delay_ms": 200}, progress=heard)
    expect(said(result) == "liftoff", "liftoff", result)
    wanted = [(step, 7, f"{step} of 7") for step in range(1, 8)]
    expect(await arrived(heard, 7) == wanted, "seven reports in order", heard)
    return ""
