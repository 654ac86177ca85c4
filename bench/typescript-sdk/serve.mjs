// The two ways to serve: a pipe, and Streamable HTTP at /mcp on the loopback address.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { newServer } from './tools.mjs';

const MODERN = '2026-07-28';
// The SDK's bound is 4 MiB. It stays on, but the largest message of the benchmark is a little over that.
const LARGEST_BODY = 16 * 1024 * 1024;
const BOUND = { maxRequestBodySize: LARGEST_BODY };

export function serveStdio({ tools }) {
  serve(() => newServer(tools));
}

/**
 * The body as JSON, as a body parser hands it to the SDK, which then need not read it as a web stream. Refuses a body
 * over the bound, for the SDK bounds only what it reads itself.
 */
async function parsed(req) {
  const chunks = [];
  let length = 0;
  for await (const chunk of req) {
    length += chunk.length;
    if (length > LARGEST_BODY) {
      throw new Error(`a body of more than ${LARGEST_BODY} bytes`);
    }
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** One server and one transport for each request, as the SDK's README has it. */
function withoutSessions(factory, options) {
  return async (req, res, body) => {
    const transport = new NodeStreamableHTTPServerTransport({ ...options, sessionIdGenerator: undefined });
    const server = factory();
    res.on('close', () => server.close());
    await server.connect(transport);
    await transport.handleRequest(req, res, body);
  };
}

/** One server and one transport for each session, in a map. */
function withSessions(factory, options) {
  const sessions = new Map();
  const open = async () => {
    const transport = new NodeStreamableHTTPServerTransport({
      ...options,
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await factory().connect(transport);
    return transport;
  };
  return async (req, res, body) => {
    const id = req.headers['mcp-session-id'];
    // A transport that nobody initialized refuses everything but `initialize`, so the body need not be looked into here.
    const transport = id === undefined ? await open() : sessions.get(id);
    if (transport === undefined) {
      res.writeHead(404, { 'content-type': 'application/json' });
      res.end('{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}');
      return;
    }
    await transport.handleRequest(req, res, body);
  };
}

export function serveHttp(port, { stateless, sse, tuned, tools }) {
  const factory = () => newServer(tools);
  const options = { ...BOUND, enableJsonResponse: (tuned || stateless) && !sse };
  const legacy = (stateless ? withoutSessions : withSessions)(factory, options);
  const modern = toNodeHandler(createMcpHandler(factory, { ...BOUND, legacy: 'reject' }), BOUND);
  const validHost = localhostHostValidation();
  const validOrigin = localhostOriginValidation();
  const answer = async (req, res) => {
    // The SDK's own `isLegacyRequest` looks into the body; for requests as ours the header says the same for less.
    const handle = req.headers['mcp-protocol-version'] === MODERN ? modern : legacy;
    const body = tuned && req.method === 'POST' ? await parsed(req) : undefined;
    await handle(req, res, body);
  };
  createServer((req, res) => {
    if (!validHost(req, res) || !validOrigin(req, res)) {
      return;
    }
    if (req.url !== '/mcp') {
      res.writeHead(404).end();
      return;
    }
    answer(req, res).catch((error) => {
      console.error(`typescript-sdk: ${error.stack}`);
      res.destroy();
    });
  }).listen(port, '127.0.0.1');
}
