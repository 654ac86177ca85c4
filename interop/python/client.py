"""The client of the Python peers: `client.py [--era legacy|modern|auto] -- COMMAND ARGS… | URL`.

Starts the server, or reaches it over HTTP (HTTP+SSE if the URL ends in `/sse`),
runs every check of checks.py against it, prints one JSON line
for each, and exits with 0 if none failed. Works with either SDK: peer1.py or
peer2.py is chosen by the version installed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import AsyncExitStack
from importlib.metadata import version

import anyio
from checks import CHECKS, Absent

if version("mcp").startswith("1."):
    from peer1 import ERAS, connect
else:
    from peer2 import ERAS, connect

TIMEOUT = 10.0
# The SDKs end a server that is still there two seconds after its stdin closed.
GRACE = 1.9


class Report:
    """The lines printed, and whether one of them says `fail`."""

    def __init__(self) -> None:
        self.failed = False

    def line(self, name: str, status: str, detail: str) -> None:
        self.failed |= status == "fail"
        print(json.dumps({"check": name, "status": status, "detail": detail}), flush=True)


def reason(error: BaseException) -> str:
    """One line about an exception, however deep it sits in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def attempt(report: Report, name: str, run, peer) -> None:
    """Runs one check under its own timeout."""
    try:
        with anyio.fail_after(TIMEOUT):
            report.line(name, "ok", await run(peer) or "")
    except Absent as absent:
        report.line(name, "absent", str(absent))
    except TimeoutError:
        report.line(name, "fail", f"no end after {TIMEOUT:.0f} s")
    except Exception as error:
        report.line(name, "fail", reason(error))


async def main(target: list[str], era: str) -> int:
    """Runs the list; the exit status."""
    report = Report()
    left = list(CHECKS)
    try:
        async with AsyncExitStack() as stack:
            peer = await stack.enter_async_context(connect(target, era, TIMEOUT))
            while left:
                name = left.pop(0)
                await attempt(report, name, CHECKS[name], peer)
            closing = time.monotonic()
        took = time.monotonic() - closing
        report.line("close", "ok" if took < GRACE else "fail", f"closed after {took:.2f} s")
    except Exception as error:
        for name in [*left, "close"]:
            report.line(name, "fail", f"no connection: {reason(error)}")
    return int(report.failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=ERAS, default=ERAS[0])
    parser.add_argument("target", nargs="+")
    arguments = parser.parse_args()
    sys.exit(anyio.run(main, arguments.target, arguments.era))
