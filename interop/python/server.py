"""The server of the Python peers: picks the program for the SDK that is installed.

`server.py` serves stdio; `server.py --listen 127.0.0.1:PORT` serves Streamable HTTP at `/mcp` and HTTP+SSE
at `/sse`, and says where on stderr. With `--stateless` Streamable HTTP has no sessions, and answers with JSON.
"""

import argparse
from importlib.metadata import version

import anyio

if version("mcp").startswith("1."):
    from server1 import application, main
else:
    from server2 import application, main

parser = argparse.ArgumentParser()
parser.add_argument("--listen", metavar="HOST:PORT")
parser.add_argument("--stateless", action="store_true")
arguments = parser.parse_args()
if arguments.listen is None:
    anyio.run(main)
else:
    from listen import listen

    anyio.run(listen, application(arguments.stateless), arguments.listen)
