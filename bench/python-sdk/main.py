"""The benchmark's program on the Python SDK, version 2 (`mcp`).

    main.py stdio [--tuned] [--tools N]
    main.py http PORT [--stateless] [--sse] [--tuned] [--tools N]
    main.py client ERA stdio|http TARGET CALLS WINDOW [--tuned]

What the SDK's documentation says about speed, and what is set here:

- `async def` tools: the SDK runs others on a thread. Always so.
- `json_response=True`. Here with --tuned and with --stateless; such a server drops progress, so --sse takes it back. In
  2026-07-28 the SDK by itself answers with JSON unless there is progress.
- `stateless_http=True` with --stateless.
- Without --tuned, `MCPServer.run` as its first page has it: asyncio's own loop, and a line in the log for every request.
- With --tuned, the ASGI application on uvicorn itself, as its page on deployment has it, with uvloop and httptools, which
  uvicorn recommends, and the log at warnings. Over stdio and in the client --tuned is uvloop too; and the client then
  keeps a connection for each call in flight (httpx2 keeps 20).

Refuses to listen on anything but the loopback address, and to switch off any guard of the SDK.
"""

import argparse
import sys


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    modes = parser.add_subparsers(dest="mode", required=True)
    stdio = modes.add_parser("stdio")
    http = modes.add_parser("http")
    http.add_argument("port", type=int)
    http.add_argument("--stateless", action="store_true", help="no sessions")
    http.add_argument("--sse", action="store_true", help="answer with event streams where there is a choice")
    for server in (stdio, http):
        server.add_argument("--tools", type=int, default=0, help="how many tools besides")
    client = modes.add_parser("client")
    client.add_argument("era")
    client.add_argument("over", choices=["stdio", "http"])
    client.add_argument("target")
    client.add_argument("calls", type=int)
    client.add_argument("window", type=int)
    for each in (stdio, http, client):
        each.add_argument("--tuned", action="store_true", help="the fastest documented configuration")
    return parser.parse_args()


def main() -> None:
    given = options()
    # Imported here: a client need not load the server, nor the other way round.
    if given.mode == "client":
        import client

        client.run(given)
    elif given.mode == "stdio":
        import serve

        serve.stdio(given)
    else:
        import serve

        serve.http(given)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
