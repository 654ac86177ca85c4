"""The two ways to serve: a pipe, and Streamable HTTP at /mcp on the loopback address."""

from argparse import Namespace

import anyio
from tools import new_server

HOST = "127.0.0.1"
# The SDK's bound is 4 MiB. It stays on, but the largest message of the benchmark is a little over that.
LARGEST_BODY = 16 * 1024 * 1024


def log_level(tuned: bool) -> str:
    return "WARNING" if tuned else "INFO"


def stdio(given: Namespace) -> None:
    server = new_server(given.tools, log_level(given.tuned))
    if given.tuned:
        anyio.run(server.run_stdio_async, backend_options={"use_uvloop": True})
    else:
        server.run()


def http(given: Namespace) -> None:
    server = new_server(given.tools, log_level(given.tuned))
    settings = {
        "json_response": (given.tuned or given.stateless) and not given.sse,
        "stateless_http": given.stateless,
        "max_request_body_size": LARGEST_BODY,
        # A hundred thousand where the SDK has ten: sessions are counted in the benchmark too.
        "max_sessions": 100_000,
    }
    if not given.tuned:
        server.run("streamable-http", host=HOST, port=given.port, **settings)
        return
    import uvicorn

    application = server.streamable_http_app(host=HOST, **settings)
    uvicorn.run(
        application, host=HOST, port=given.port, loop="uvloop", http="httptools", log_level="warning", access_log=False
    )
