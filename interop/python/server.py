"""The stdio server of the Python peers: picks the program for the SDK that is installed."""

from importlib.metadata import version

if version("mcp").startswith("1."):
    from server1 import run
else:
    from server2 import run

run()
