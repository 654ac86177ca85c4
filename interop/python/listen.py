"""Serving an ASGI application on a loopback port. Knows no SDK and no protocol."""

from __future__ import annotations

import socket
import sys

import uvicorn


async def listen(application, address: str) -> None:
    """Serves until the process is ended; port 0 is any free one."""
    host, port = address.rsplit(":", 1)
    with socket.create_server((host, int(port))) as bound:
        # Connections wait in the queue of the socket until the server accepts them.
        print(f"listening on http://{host}:{bound.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        config = uvicorn.Config(application, log_level="warning", timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve(sockets=[bound])
