"""What the peers' servers offer, as wire JSON, and what their tools do.

One description for both Python SDKs: their model classes differ in spelling but
agree on the wire, so everything here is plain dictionaries that either SDK
validates into its own types. Knows no SDK and does no I/O of its own; what a
tool needs from its connection comes in as `io` (see `call`).
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib

import anyio

INSTRUCTIONS = "A server for interoperability runs. Start with the tool `echo`."
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
INVALID_PARAMS = -32602
NOT_FOUND_LEGACY = -32002


class Refused(Exception):
    """A protocol error: becomes a JSON-RPC error with this code."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code
        self.message = message


def png() -> bytes:
    """A valid picture of one black pixel."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def wav() -> bytes:
    """One silent sample."""
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", 1) + b"\x80\x00"
    return b"RIFF" + struct.pack("<I", len(body)) + body


PNG, WAV = png(), wav()
README = "# Readme\n\nThe text resource of the interoperability server.\n"
NOTES = ["alpha", "beta", "gamma"]
STYLES = ["formal", "friendly", "pirate"]
LANGUAGES = ["rust", "ruby", "python", "typescript", "go"]


def schema(required: list[str], **properties: str) -> dict:
    """An object schema of primitive properties: name="type"."""
    typed = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": typed, "required": required}


def tools(modern: bool, extra: bool) -> list[dict]:
    """The tools in force. Only 2026-07-28 lets a structured result be a bare number."""
    number = {"type": "integer"} if modern else schema(["result"], result="integer")
    report = schema(["city", "celsius", "sky"], city="string", celsius="number", sky="string")
    nothing = {"type": "object", "properties": {}}

    def tool(name: str, description: str, arguments: dict = nothing, **more: object) -> dict:
        return {"name": name, "description": description, "inputSchema": arguments, **more}

    offered = [
        tool("echo", "Repeats a message.", schema(["message"], message="string"), annotations={"readOnlyHint": True}),
        tool("add", "Adds two integers.", schema(["a", "b"], a="integer", b="integer"), outputSchema=number),
        tool("weather", "Reports the weather.", schema(["city"], city="string"), outputSchema=report),
        tool("greet", "Asks for a name and greets it.", schema(["greeting"], greeting="string")),
        tool("ask_model", "Asks the client's model.", schema(["question"], question="string")),
        tool("list_roots", "Lists the client's roots."),
        tool("countdown", "Reports progress.", schema(["steps"], steps="integer", delay_ms="integer")),
        tool("log_lines", "Logs once at every level."),
        tool("sleep", "Waits; can be cancelled.", schema(["ms"], ms="integer")),
        tool("kinds", "Answers with every kind of content."),
        tool("fail", "Fails.", schema(["message"], message="string")),
        tool("toggle", "Adds or removes the tool `extra`."),
        tool("touch", "Changes demo://clock."),
    ]
    return offered + ([tool("extra", "Is not always there.")] if extra else [])


RESOURCES = [
    {"uri": "demo://readme", "name": "readme", "mimeType": "text/markdown"},
    {"uri": "demo://logo.png", "name": "logo", "mimeType": "image/png", "size": len(PNG)},
    {"uri": "demo://clock", "name": "clock", "mimeType": "text/plain"},
]
TEMPLATES = [{"uriTemplate": "demo://notes/{id}", "name": "note", "mimeType": "text/plain"}]
PROMPTS = [
    {
        "name": "greeting",
        "description": "Greets somebody.",
        "arguments": [{"name": "name", "required": True}, {"name": "style", "required": False}],
    },
    {
        "name": "review",
        "description": "Reviews code.",
        "arguments": [{"name": "code", "required": True}, {"name": "language", "required": False}],
    },
]


def read(uri: str, touched: int, modern: bool) -> dict:
    """The result of resources/read."""
    prefix = "demo://notes/"
    if uri == "demo://readme":
        content = {"mimeType": "text/markdown", "text": README}
    elif uri == "demo://logo.png":
        content = {"mimeType": "image/png", "blob": base64.b64encode(PNG).decode()}
    elif uri == "demo://clock":
        content = {"mimeType": "text/plain", "text": f"tick {touched}"}
    elif uri.startswith(prefix) and uri[len(prefix) :] in NOTES:
        content = {"mimeType": "text/plain", "text": f"note {uri[len(prefix):]}"}
    else:
        raise Refused(INVALID_PARAMS if modern else NOT_FOUND_LEGACY, f"no resource {uri}")
    return {"contents": [{"uri": uri, **content}]}


def prompt(name: str, arguments: dict[str, str]) -> dict:
    """The result of prompts/get."""
    known = next((p for p in PROMPTS if p["name"] == name), None)
    if known is None:
        raise Refused(INVALID_PARAMS, f"no prompt {name}")
    for argument in known["arguments"]:
        if argument["required"] and argument["name"] not in arguments:
            raise Refused(INVALID_PARAMS, f"prompt {name} needs {argument['name']}")

    def message(role: str, said: str) -> dict:
        return {"role": role, "content": text(said)}

    if name == "greeting":
        style = arguments.get("style", "friendly")
        return {"messages": [message("user", f"Greet {arguments['name']} in a {style} way.")]}
    ask = message("user", f"Review this code:\n{arguments['code']}")
    return {"messages": [ask, message("assistant", "Reading it now.")]}


def complete(ref: dict, argument: str, value: str) -> dict:
    """The result of completion/complete: candidates by prefix."""
    known = {
        ("greeting", "style"): STYLES,
        ("review", "language"): LANGUAGES,
        ("demo://notes/{id}", "id"): NOTES,
    }
    candidates = known.get((ref.get("name") or ref.get("uri"), argument), [])
    values = [c for c in candidates if c.startswith(value)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def text(said: str) -> dict:
    """One text block."""
    return {"type": "text", "text": said}


def answer(*content: dict, **more: object) -> dict:
    """The result of tools/call."""
    return {"content": list(content), **more}


KINDS = [
    text("text"),
    {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"},
    {"type": "audio", "data": base64.b64encode(WAV).decode(), "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "demo://readme", "name": "readme"},
    {"type": "resource", "resource": {"uri": "demo://readme", "mimeType": "text/markdown", "text": README}},
]


async def call(name: str, arguments: dict, io) -> dict:
    """Runs a tool. `io` is the connection: `modern`, `extra` (is the tool there?) and the coroutines
    `elicit(message, schema)`, `sample(params)`, `roots()` (each answers with a wire result),
    `progress(n, of, message)`, `log(level, data)`, `toggle()` and `touch()`."""
    run = TOOLS.get(name)
    if run is None or (name == "extra" and not io.extra):
        raise Refused(INVALID_PARAMS, f"unknown tool {name}")
    return await run(io, **arguments)


async def echo(io, message: str) -> dict:
    return answer(text(message))


async def add(io, a: int, b: int) -> dict:
    return answer(text(str(a + b)), structuredContent=a + b if io.modern else {"result": a + b})


async def weather(io, city: str) -> dict:
    report = {"city": city, "celsius": 21.5, "sky": "clear"}
    return answer(text(json.dumps(report)), structuredContent=report)


async def greet(io, greeting: str) -> dict:
    reply = await io.elicit("Who is there?", schema(["name"], name="string"))
    if reply["action"] != "accept":
        return answer(text(f"nobody said who they are: {reply['action']}"), isError=True)
    return answer(text(f"{greeting}, {reply['content']['name']}!"))


async def ask_model(io, question: str) -> dict:
    reply = await io.sample({"messages": [{"role": "user", "content": text(question)}], "maxTokens": 100})
    content = reply["content"]
    return answer(text((content[0] if isinstance(content, list) else content)["text"]))


async def list_roots(io) -> dict:
    return answer(*(text(root["uri"]) for root in (await io.roots())["roots"]))


async def countdown(io, steps: int, delay_ms: int = 0) -> dict:
    for step in range(1, steps + 1):
        await anyio.sleep(delay_ms / 1000)
        await io.progress(step, steps, f"{step} of {steps}")
    return answer(text("liftoff"))


async def log_lines(io) -> dict:
    for level in LEVELS:
        await io.log(level, f"a line at {level}")
    return answer(text("logged"))


async def sleep(io, ms: int) -> dict:
    try:
        await anyio.sleep(ms / 1000)
    except anyio.get_cancelled_exc_class():
        print("cancelled", file=sys.stderr, flush=True)
        raise
    return answer(text("slept"))


async def kinds(io) -> dict:
    return answer(*KINDS)


async def fail(io, message: str) -> dict:
    return answer(text(message), isError=True)


async def toggle(io) -> dict:
    await io.toggle()
    return answer(text("extra is here" if io.extra else "extra is gone"))


async def touch(io) -> dict:
    await io.touch()
    return answer(text("touched"))


async def extra(io) -> dict:
    return answer(text("extra"))


TOOLS = {
    run.__name__: run
    for run in (
        echo, add, weather, greet, ask_model, list_roots, countdown,
        log_lines, sleep, kinds, fail, toggle, touch, extra,
    )
}  # fmt: skip
