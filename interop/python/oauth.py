"""The Python SDKs log in: `oauth.py --scoped TOOL -- URL OTHER`.

URL and OTHER are servers that one authorization server protects, TOOL needs a scope that nobody asks
for at first. `BROWSER` names the program that is a person at a browser. Runs the checks of
../oauth/checks.txt, prints one JSON line for each, and exits with 0 if none failed. Works with either SDK:
they differ in the HTTP library, in what a callback returns, and in how a client is made.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from contextlib import AsyncExitStack, nullcontext
from importlib.metadata import version
from urllib.parse import parse_qs, urlsplit

import anyio
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

FIRST = version("mcp").startswith("1.")
if FIRST:
    import httpx
    from mcp import ClientSession
else:
    import httpx2 as httpx
    from mcp import Client
    from mcp.client.auth import AuthorizationCodeResult

TIMEOUT = 60.0
LOGIN = "login in the browser"


class Wrong(Exception):
    """Something else came than was expected."""


def expect(held: bool, what: str, got: object) -> None:
    """Raises `Wrong` unless it held."""
    if not held:
        raise Wrong(f"expected {what}, got {got!r}")


class Login:
    """What the SDK leaves to its users: what is kept, and the way to the browser and back."""

    def __init__(self) -> None:
        self.visits = 0
        self.tokens = None
        self.client = None
        self.came = anyio.Event()

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens) -> None:
        self.tokens = tokens
        self.expires_at = time.time() + tokens.expires_in

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info) -> None:
        self.client = client_info

    async def listen(self, tasks) -> None:
        """Makes the redirect URI one that is answered."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        self.redirect_uri = f"http://127.0.0.1:{port}/callback"
        tasks.start_soon(listener.serve, self.answer)

    async def answer(self, stream) -> None:
        """One request, of which only the first line matters."""
        async with stream:
            said = b""
            while b"\r\n\r\n" not in said:
                said += await stream.receive()
            target = urlsplit(said.split(b" ", 2)[1].decode())
            text = b"You can close this."
            await stream.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        if target.path == "/callback":
            self.query = {name: values[0] for name, values in parse_qs(target.query).items()}
            self.came.set()

    async def redirect(self, url: str) -> None:
        self.visits += 1
        self.came = anyio.Event()
        await anyio.run_process([os.environ["BROWSER"], url], stderr=sys.stderr)

    async def callback(self):
        await self.came.wait()
        if "code" not in self.query:
            raise Wrong(f"redirected with {self.query.get('error')}")
        code, state = self.query["code"], self.query.get("state")
        if FIRST:
            return code, state
        return AuthorizationCodeResult(code=code, state=state, iss=self.query.get("iss"))

    def provider(self, url: str) -> OAuthClientProvider:
        metadata = OAuthClientMetadata(
            client_name="python-sdk",
            redirect_uris=[self.redirect_uri],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        )
        return OAuthClientProvider(
            server_url=url,
            client_metadata=metadata,
            storage=self,
            redirect_handler=self.redirect,
            callback_handler=self.callback,
        )


class Peer:
    """The SDK's client, and where it is used."""

    def __init__(self, url: str, other: str, scoped: str, login: Login, stack: AsyncExitStack) -> None:
        self.url, self.other, self.scoped = url, other, scoped
        self.login, self.stack = login, stack

    async def connect(self) -> None:
        timeout = httpx.Timeout(30.0, read=300.0)
        http = httpx.AsyncClient(auth=self.login.provider(self.url), timeout=timeout, trust_env=False)
        await self.stack.enter_async_context(http)
        transport = streamable_http_client(self.url, http_client=http)
        if FIRST:
            reader, writer, _ = await self.stack.enter_async_context(transport)
            self.session = await self.stack.enter_async_context(ClientSession(reader, writer))
            await self.session.initialize()
        else:
            self.session = await self.stack.enter_async_context(Client(transport))

    async def call(self, name: str, arguments: dict) -> dict:
        result = await self.session.call_tool(name, arguments)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)


async def knock(url: str, token: str | None = None):
    """One POST, with a token or without; what the SDK would make of it is not asked."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "knock", "version": "1.0.0"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    headers = {"Accept": "application/json, text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(url, json=body, headers=headers)


async def names_metadata(peer: Peer) -> str:
    refused = await knock(peer.url)
    expect(refused.status_code == 401, "a 401", refused.status_code)
    challenge = refused.headers.get("www-authenticate", "")
    found = re.search(r'resource_metadata="([^"]+)"', challenge)
    expect(found is not None, "resource_metadata", challenge)
    async with httpx.AsyncClient(trust_env=False) as client:
        metadata = (await client.get(found[1])).json()
    expect(metadata.get("resource") == peer.url, f"the resource {peer.url}", metadata)
    expect(len(metadata.get("authorization_servers", [])) == 1, "one issuer", metadata)
    return ""


async def log_in(peer: Peer) -> str:
    await peer.connect()
    expect(peer.login.visits == 1, "one visit", peer.login.visits)
    expect(peer.login.tokens.refresh_token is not None, "a refresh token", None)
    return f"scope {peer.login.tokens.scope}"


async def echo(peer: Peer) -> str:
    result = await peer.call("echo", {"message": "hello"})
    expect(result["content"][0]["text"] == "hello", "hello", result)
    return ""


async def refresh(peer: Peer) -> str:
    login, before = peer.login, peer.login.tokens
    await anyio.sleep(max(0.0, login.expires_at - time.time()) + 1.0)
    await echo(peer)
    expect(login.visits == 1, "no other visit", login.visits)
    expect(login.tokens.access_token != before.access_token, "another access token", "the same")
    expect(login.tokens.refresh_token != before.refresh_token, "another refresh token", "the same")
    return "before the call: the SDK looks at the clock"


async def step_up(peer: Peer) -> str:
    result = await peer.call(peer.scoped, {})
    expect(not result.get("isError"), "a result", result)
    expect(peer.login.visits == 2, "a second visit", peer.login.visits)
    await echo(peer)
    return f"scope {peer.login.tokens.scope}"


async def refused_elsewhere(peer: Peer) -> str:
    token = peer.login.tokens.access_token
    own = await knock(peer.url, token)
    expect(own.status_code == 200, "its own server to take it", own.status_code)
    refused = await knock(peer.other, token)
    challenge = refused.headers.get("www-authenticate", "")
    expect(refused.status_code == 401 and 'error="invalid_token"' in challenge, "a 401, invalid_token", challenge)
    return ""


CHECKS = {
    "401 names the metadata": names_metadata,
    LOGIN: log_in,
    "tools/call": echo,
    "refresh after expiry": refresh,
    "step-up": step_up,
    "token of another server refused": refused_elsewhere,
}


def reason(error: BaseException) -> str:
    """One line about an exception, however deep it sits in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def main(arguments: argparse.Namespace) -> int:
    """Runs the list; the exit status."""
    failed = False
    left = list(CHECKS)

    def report(name: str, status: str, detail: str) -> None:
        print(json.dumps({"check": name, "status": status, "detail": detail}), flush=True)

    try:
        async with anyio.create_task_group() as tasks:
            login = Login()
            await login.listen(tasks)
            async with AsyncExitStack() as stack:
                peer = Peer(arguments.url, arguments.other, arguments.scoped, login, stack)
                while left:
                    name = left.pop(0)
                    # What connecting opens stays open, so that no scope of ours may close around it.
                    bound = nullcontext() if name == LOGIN else anyio.fail_after(TIMEOUT)
                    try:
                        with bound:
                            report(name, "ok", await CHECKS[name](peer))
                    except Exception as error:
                        failed = True
                        report(name, "fail", reason(error))
            tasks.cancel_scope.cancel()
    except Exception as error:
        failed = True
        for name in left:
            report(name, "fail", reason(error))
        print(reason(error), file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--scoped", required=True)
    parser.add_argument("url")
    parser.add_argument("other")
    parsed = parser.parse_args()
    if "BROWSER" not in os.environ:
        parser.error("BROWSER names no program")
    sys.exit(anyio.run(main, parsed))
