"""The Python peers as clients of the gateway: `gateway.py [--era legacy|modern|auto] URL FOLDER`.

Behind the URL are server-everything, server-filesystem (with the folder), server-memory and
mcp-server-time, each under its own prefix. Runs every check of gateway/checks.txt, prints one JSON
line for each, and exits with 0 if none failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version

import anyio
from checks import Refusal, Wrong
from client import Report, attempt, reason

if version("mcp").startswith("1."):
    from peer1 import ERAS, connect
else:
    from peer2 import ERAS, connect

TIMEOUT = 20.0
EXPECTED = ["everything__echo", "files__read_text_file", "memory__create_entities", "time__convert_time"]
DOCUMENT = "everything+demo://resource/static/document/features.md"


def text_of(result: dict) -> str:
    """The text of a tool's result."""
    if result.get("isError"):
        raise Wrong(f"the tool failed: {result}")
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


def expect(found: str, wanted: str) -> str:
    if wanted not in found:
        raise Wrong(f"no {wanted!r} in {found[:300]!r}")
    return wanted


async def tools(peer) -> str:
    names = [tool["name"] for tool in await peer.list_tools()]
    missing = [name for name in EXPECTED if name not in names]
    if missing or len(set(names)) != len(names):
        raise Wrong(f"missing: {missing}, of {len(names)}")
    return f"{len(names)} tools"


async def echo(peer) -> str:
    return expect(text_of(await peer.call("everything__echo", {"message": "hello"})), "Echo: hello")


async def structured(peer) -> str:
    result = await peer.call("everything__get-structured-content", {"location": "New York"})
    return expect(json.dumps(result.get("structuredContent")), "temperature")


async def progress(peer) -> str:
    seen: list = []
    await peer.call("everything__trigger-long-running-operation", {"duration": 1, "steps": 4}, progress=seen)
    if [step[0] for step in seen] != [1, 2, 3, 4]:
        raise Wrong(f"progress: {seen}")
    return "4 reports"


async def elicitation(peer) -> str:
    peer.elicited.clear()
    peer.reply = {"action": "decline"}
    result = await peer.call("everything__trigger-elicitation-request", {})
    if len(peer.elicited) != 1:
        raise Wrong(f"asked {len(peer.elicited)} times")
    expect(peer.elicited[0]["message"], "everything")
    return expect(text_of(result).lower(), "decline")


async def prompt(peer) -> str:
    result = await peer.prompt("everything__args-prompt", {"city": "Bonn"})
    return expect(result["messages"][0]["content"]["text"], "Bonn")


async def resource(peer) -> str:
    listed = [resource["uri"] for resource in await peer.list_resources()]
    if DOCUMENT not in listed:
        raise Wrong(f"not listed: {listed}")
    contents = (await peer.read(DOCUMENT))["contents"]
    return expect(contents[0]["uri"], DOCUMENT)


async def template(peer) -> str:
    contents = (await peer.read("everything+demo://resource/dynamic/text/1"))["contents"]
    return expect(contents[0]["text"], "Resource 1")


async def link(peer) -> str:
    result = await peer.call("everything__get-resource-links", {"count": 1})
    links = [part["uri"] for part in result["content"] if part["type"] == "resource_link"]
    if not links:
        raise Wrong(f"no link: {result}")
    return expect((await peer.read(links[0]))["contents"][0]["uri"], links[0])


async def completion(peer) -> str:
    ref = {"type": "ref/prompt", "name": "everything__completable-prompt"}
    values = (await peer.complete(ref, "department", "E"))["completion"]["values"]
    return expect(json.dumps(values), "Engineering")


def in_folder(folder: str):
    async def files(peer) -> str:
        return expect(text_of(await peer.call("files__read_text_file", {"path": f"{folder}/hello.txt"})), "gateway")

    return files


async def memory(peer) -> str:
    entity = {"name": "Bonn", "entityType": "city", "observations": ["on the Rhine"]}
    await peer.call("memory__create_entities", {"entities": [entity]})
    return expect(text_of(await peer.call("memory__read_graph", {})), "on the Rhine")


async def time(peer) -> str:
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    return expect(text_of(await peer.call("time__convert_time", arguments)), "21:00")


async def unknown(peer) -> str:
    try:
        result = await peer.call("nobody__nothing", {})
    except Refusal as refusal:
        return str(refusal)
    raise Wrong(f"answered: {result}")


def checks(folder: str) -> dict:
    return {
        "tools of all servers": tools,
        "everything: call": echo,
        "everything: structured": structured,
        "everything: progress": progress,
        "everything: elicitation": elicitation,
        "everything: prompt": prompt,
        "everything: resource": resource,
        "everything: template": template,
        "everything: link": link,
        "everything: completion": completion,
        "files: call": in_folder(folder),
        "memory: call": memory,
        "time: call": time,
        "unknown tool": unknown,
    }


async def main(url: str, folder: str, era: str) -> int:
    """Runs the list; the exit status."""
    report = Report()
    left = checks(folder)
    try:
        async with connect([url], era, TIMEOUT) as peer:
            for name in list(left):
                await attempt(report, name, left.pop(name), peer)
    except Exception as error:
        for name in left:
            report.line(name, "fail", f"no connection: {reason(error)}")
    return int(report.failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=ERAS, default=ERAS[0])
    parser.add_argument("url")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    sys.exit(anyio.run(main, arguments.url, arguments.folder, arguments.era))
