"""A server under test: started on a free port, spoken to, looked at in /proc, and ended. It knows the
messages of both eras and refuses an answer that is not exactly the echo that was asked for."""
import http.client, json, os, re, socket, subprocess, time

MODERN = "2026-07-28"
PATH = "/mcp"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


class Started:
    """One server process; `{port}` in its command is replaced by a free port."""

    def __init__(self, command):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [word.replace("{port}", str(self.port)) for word in command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.url = f"http://127.0.0.1:{self.port}{PATH}"

    def __enter__(self):
        try:
            self.wait()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def wait(self):
        for _ in range(300):
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended with {self.process.returncode} before it listened")
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the server never listened")

    def end(self):
        self.process.kill()
        self.process.wait()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def cpu(self):
        """Seconds of CPU that all its threads have used, in user and in system mode."""
        fields = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.pid}/status").read())[1])


def post(connection, message, era=None, session=""):
    """Sends one message; the status, the session that was named, and the answer if there is one."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if era:
        headers["MCP-Protocol-Version"] = era
    if era == MODERN:
        headers["Mcp-Method"] = message["method"]
        if "name" in message["params"]:
            headers["Mcp-Name"] = message["params"]["name"]
    if session:
        headers["Mcp-Session-Id"] = session
    # Compact, as wrk sends it: the bare server finds things by their neighbours.
    connection.request("POST", PATH, json.dumps(message, separators=(",", ":")), headers)
    response = connection.getresponse()
    text = response.read().decode()
    if response.headers.get_content_type() == "text/event-stream":
        events = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
        text = next((event for event in events if '"id"' in event), "")
    try:
        answer = json.loads(text) if text else None
    except ValueError:
        answer = text
    return response.status, response.getheader("mcp-session-id") or "", answer


def initialize(connection, era):
    """Opens a legacy session, or settles on a revision where the server has none; its id."""
    hello = {"protocolVersion": era, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    status, session, answer = post(connection, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    if status != 200 or not isinstance(answer, dict) or answer.get("result", {}).get("protocolVersion") != era:
        raise SystemExit(f"does not speak {era}: {status} {answer}")
    status, _, answer = post(connection, {"jsonrpc": "2.0", "method": "notifications/initialized"}, era, session)
    if status != 202:
        raise SystemExit(f"initialized was answered with {status}: {answer}")
    return session


def handshake(server, era):
    """What comes before the first call, if anything; the session's id."""
    return "" if era == MODERN else initialize(server.connection(), era)


def call(server, era, session, text):
    """Calls `echo` once and refuses anything but the echo."""
    params = {"name": "echo", "arguments": {"message": text}}
    if era == MODERN:
        params["_meta"] = META
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    status, _, answer = post(server.connection(), message, era, session)
    result = answer.get("result") if isinstance(answer, dict) and answer.get("id") == 7 else None
    right = (
        status == 200
        and result
        and result.get("isError") is not True
        and (era != MODERN or result.get("resultType") == "complete")
        and [(block.get("type"), block.get("text")) for block in result.get("content", [])] == [("text", text)]
    )
    if not right:
        raise SystemExit(f"not an echo: {status} {answer}")
