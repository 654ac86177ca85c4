// The server on the TypeScript SDK: `node server.mjs` serves stdio, `node server.mjs --listen 127.0.0.1:PORT`
// serves Streamable HTTP at `/mcp` and the deprecated HTTP+SSE at `/sse`, and says where on stderr. With
// `--stateless` Streamable HTTP has no sessions, and answers with JSON.

import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { makeServer } from './offer.mjs';

function refuse(response, status, message) {
  response.status(status).json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null });
}

/** The events of a session's streams, so that a client can take one up again; an event's id is its place. */
class Events {
  kept = [];

  async storeEvent(streamId, message) {
    return String(this.kept.push({ streamId, message }) - 1);
  }

  async replayEventsAfter(lastEventId, { send }) {
    const last = Number(lastEventId);
    const { streamId } = this.kept[last];
    for (const [place, event] of this.kept.entries()) {
      // What has no method and no result only says where the stream is.
      if (place > last && event.streamId === streamId && Object.keys(event.message).length > 0) {
        await send(String(place), event.message);
      }
    }
    return streamId;
  }
}

/** Streamable HTTP: a transport and a server for each session, as the SDK's examples have it. */
function streamable(app) {
  const sessions = new Map();
  const opened = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new Events(),
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await makeServer().connect(transport);
    return transport;
  };
  app.all('/mcp', async (request, response) => {
    const id = request.headers['mcp-session-id'];
    if (id !== undefined && !sessions.has(id)) {
      refuse(response, 404, 'there is no such session');
    } else if (id === undefined && !isInitializeRequest(request.body)) {
      refuse(response, 400, 'a session begins with initialize');
    } else {
      const transport = sessions.get(id) ?? (await opened());
      await transport.handleRequest(request, response, request.body);
    }
  });
}

/** Streamable HTTP without sessions: a transport and a server for each request. */
function stateless(app) {
  app.post('/mcp', async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    await makeServer().connect(transport);
    await transport.handleRequest(request, response, request.body);
  });
  app.all('/mcp', (_request, response) => refuse(response, 405, 'only POST'));
}

/** HTTP+SSE: the stream names the URL that messages are posted to. */
function eventsAndMessages(app) {
  const sessions = new Map();
  app.get('/sse', async (_request, response) => {
    const transport = new SSEServerTransport('/messages', response);
    sessions.set(transport.sessionId, transport);
    response.on('close', () => sessions.delete(transport.sessionId));
    await makeServer().connect(transport);
  });
  app.post('/messages', async (request, response) => {
    const transport = sessions.get(request.query.sessionId);
    if (transport === undefined) {
      refuse(response, 404, 'there is no such session');
    } else {
      await transport.handlePostMessage(request, response, request.body);
    }
  });
}

function listen(address, mcp) {
  const [host, port] = address.split(':');
  const app = createMcpExpressApp({ host });
  mcp(app);
  eventsAndMessages(app);
  const listener = app.listen(Number(port), host, () => {
    console.error(`listening on http://${host}:${listener.address().port}/mcp`);
  });
}

const { values } = parseArgs({ options: { listen: { type: 'string' }, stateless: { type: 'boolean' } } });
if (values.listen === undefined) {
  await makeServer().connect(new StdioServerTransport());
} else {
  listen(values.listen, values.stateless ? stateless : streamable);
}
