// The client on the TypeScript SDK: `node client.mjs [--era legacy] -- COMMAND ARGS… | URL`.
//
// Starts the server, or reaches it over HTTP (HTTP+SSE if the URL ends in `/sse`), runs every
// check of checks.mjs against it, prints one JSON line for each, and exits with 0 if none
// failed. The SDK speaks the legacy era only.

import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Absent, CHECKS, ROOTS } from './checks.mjs';

const TIMEOUT = 10_000;
// The SDK ends a server that is still there two seconds after its stdin closed.
const GRACE = 1_900;

/** The SDK's transport for a command line or a URL. */
function newTransport([first, ...args]) {
  switch (over(first)) {
    case 'stdio':
      return new StdioClientTransport({ command: first, args });
    case 'http+sse':
      return new SSEClientTransport(new URL(first));
    default:
      return new StreamableHTTPClientTransport(new URL(first));
  }
}

function over(first) {
  if (!first.startsWith('http://')) {
    return 'stdio';
  }
  return first.endsWith('/sse') ? 'http+sse' : 'http';
}

/** Notes the revision in passing: the client tells it to its transport, and keeps it from everyone else. */
function noting(transport) {
  const told = transport.setProtocolVersion?.bind(transport);
  transport.negotiated = 'unknown revision';
  transport.setProtocolVersion = (version) => {
    transport.negotiated = version;
    told?.(version);
  };
  return transport;
}

/** A client with its responders, and what came in for them. */
function newPeer(target) {
  const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };
  const client = new Client({ name: 'typescript-sdk', version: '1.0.0' }, { capabilities });
  const peer = {
    client,
    transport: noting(newTransport(target)),
    over: over(target[0]),
    logged: [],
    sampled: [],
    elicited: [],
    updated: [],
    changed: [],
    reply: { action: 'cancel' },
  };
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    peer.sampled.push(params);
    return { role: 'assistant', content: { type: 'text', text: 'It is 42.' }, model: 'a-model', stopReason: 'endTurn' };
  });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    peer.elicited.push(params);
    return peer.reply;
  });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: ROOTS.map((uri) => ({ uri })) }));
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => peer.logged.push(params));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => peer.updated.push(params.uri));
  client.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) => peer.changed.push(method));
  return peer;
}

/** The promise, or an error after the timeout. */
function within(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${TIMEOUT / 1000} s`)), TIMEOUT);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

let failed = false;

function report(check, status, detail = '') {
  failed ||= status === 'fail';
  console.log(JSON.stringify({ check, status, detail }));
}

async function attempt(name, run, peer) {
  try {
    report(name, 'ok', await within(run(peer)));
  } catch (error) {
    report(name, error instanceof Absent ? 'absent' : 'fail', error.message);
  }
}

/** Ends a session, where there is one, before the connection: the SDK leaves it to its users. */
async function close({ client, transport }) {
  const closing = performance.now();
  await transport.terminateSession?.();
  await client.close();
  const took = performance.now() - closing;
  const detail = `closed after ${(took / 1000).toFixed(2)} s`;
  if (took >= GRACE) {
    throw new Error(detail);
  }
  return detail;
}

async function main(target) {
  const peer = newPeer(target);
  try {
    await within(peer.client.connect(peer.transport));
  } catch (error) {
    for (const name of [...Object.keys(CHECKS), 'close']) {
      report(name, 'fail', `no connection: ${error.message}`);
    }
    await peer.transport.close();
    return;
  }
  for (const [name, run] of Object.entries(CHECKS)) {
    await attempt(name, run, peer);
  }
  await attempt('close', close, peer);
}

const { values, positionals } = parseArgs({
  options: { era: { type: 'string', default: 'legacy' } },
  allowPositionals: true,
});
if (values.era !== 'legacy' || positionals.length === 0) {
  console.error('usage: client.mjs [--era legacy] -- COMMAND ARGS… | URL');
  process.exit(2);
}
await main(positionals);
process.exit(failed ? 1 : 0);
