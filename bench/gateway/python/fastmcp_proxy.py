"""FastMCP's proxy, as its documentation teaches it: `create_proxy(target).run(...)`.

    fastmcp_proxy.py http PORT TARGET      TARGET: a URL, or the command of a stdio server as a JSON list
    fastmcp_proxy.py stdio TARGET
"""

import json
import sys

from fastmcp.server import create_proxy


def proxy(target: str):
    if target.startswith("["):
        command, *args = json.loads(target)
        target = {"mcpServers": {"upstream": {"command": command, "args": args}}}
    return create_proxy(target, name="proxy")


match sys.argv[1:]:
    case ["http", port, target]:
        # Its access log would be most of what it does.
        quiet = {"log_level": "error", "access_log": False}
        proxy(target).run(
            transport="http", host="127.0.0.1", port=int(port), show_banner=False, log_level="ERROR", uvicorn_config=quiet
        )
    case ["stdio", target]:
        proxy(target).run(transport="stdio", show_banner=False, log_level="ERROR")
    case _:
        sys.exit(__doc__)
