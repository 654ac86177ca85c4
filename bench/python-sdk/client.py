"""The client: one session, so many calls of `echo` in flight, every answer checked. It prints `begin` and `end` for
whoever measures it from outside, and stays until its stdin ends so that it can be measured.

The SDK's client cannot be told which revision of the legacy era to offer: it offers 2025-11-25 and takes what the server
answers. If that is not the one asked for, the program says so on stderr and goes on.
"""

import json
import sys
import time
from argparse import Namespace
from contextlib import AsyncExitStack

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

MODERN = "2026-07-28"
WARM_UP = 1000
MESSAGE = "x" * 64


class Wrong(Exception):
    """The server did something else than it was asked to."""


async def connected(stack: AsyncExitStack, given: Namespace) -> Client:
    if given.over == "stdio":
        target = StdioServerParameters(command=given.target, args=["stdio"])
    elif given.tuned:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=2 * given.window)
        pool = httpx2.AsyncClient(limits=limits, timeout=httpx2.Timeout(30, read=300))
        target = streamable_http_client(given.target, http_client=await stack.enter_async_context(pool))
    else:
        target = given.target
    client = await stack.enter_async_context(Client(target, mode=MODERN if given.era == MODERN else "legacy"))
    if client.protocol_version != given.era:
        print(f"python-sdk: the server speaks {client.protocol_version}, not {given.era}", file=sys.stderr)
    return client


async def call(client: Client) -> None:
    result = await client.call_tool("echo", {"message": MESSAGE})
    if len(result.content) != 1 or result.content[0].text != MESSAGE:
        raise Wrong(f"wrong answer: {result}")


async def load(client: Client, calls: int, window: int) -> list[float]:
    """Makes the calls with `window` callers; how long each call took, in seconds."""
    took = []
    left = iter(range(calls))

    async def caller() -> None:
        for _ in left:
            begun = time.perf_counter()
            await call(client)
            took.append(time.perf_counter() - begun)

    async with anyio.create_task_group() as callers:
        for _ in range(window):
            callers.start_soon(caller)
    return took


async def measure(given: Namespace) -> None:
    async with AsyncExitStack() as stack:
        client = await connected(stack, given)
        await load(client, WARM_UP, given.window)
        print("begin", flush=True)
        begun = time.perf_counter()
        took = await load(client, given.calls, given.window)
        elapsed = time.perf_counter() - begun
        took.sort()

        def micros(part: float) -> float:
            return round(took[int(given.calls * part)] * 1e6, 1)

        figures = {"calls": given.calls, "elapsed_s": elapsed, "p50_us": micros(0.5), "p99_us": micros(0.99)}
        print("end", json.dumps(figures, separators=(",", ":")), flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)


def run(given: Namespace) -> None:
    if given.calls < 1 or given.window < 1:
        sys.exit("python-sdk: CALLS and WINDOW are numbers from 1 on")
    try:
        anyio.run(measure, given, backend_options={"use_uvloop": given.tuned})
    except Exception as error:
        # Task groups wrap what went wrong in groups of one.
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        sys.exit(f"python-sdk: {type(error).__name__}: {error}")
