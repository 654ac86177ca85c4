// The client on the TypeScript SDK: `node client.mjs [--era legacy] -- COMMAND ARGS…`.
//
// Starts the server, runs every check of checks.mjs against it, prints one JSON line for
// each, and exits with 0 if none failed. The SDK speaks the legacy era only.

import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { CHECKS, ROOTS } from './checks.mjs';

const TIMEOUT = 10_000;
// The SDK ends a server that is still there two seconds after its stdin closed.
const GRACE = 1_900;

/** The SDK's transport; the client tells it the revision, and keeps it from everyone else. */
class Transport extends StdioClientTransport {
  negotiated = 'unknown revision';

  setProtocolVersion(version) {
    this.negotiated = version;
  }
}

/** A client with its responders, and what came in for them. */
function newPeer(command) {
  const [program, ...args] = command;
  const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };
  const client = new Client({ name: 'typescript-sdk', version: '1.0.0' }, { capabilities });
  const peer = {
    client,
    transport: new Transport({ command: program, args }),
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
    report(name, 'fail', error.message);
  }
}

async function main(command) {
  const peer = newPeer(command);
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
  const closing = performance.now();
  await peer.client.close();
  const took = performance.now() - closing;
  report('close', took < GRACE ? 'ok' : 'fail', `the server left after ${(took / 1000).toFixed(2)} s`);
}

const { values, positionals } = parseArgs({
  options: { era: { type: 'string', default: 'legacy' } },
  allowPositionals: true,
});
if (values.era !== 'legacy' || positionals.length === 0) {
  console.error('usage: client.mjs [--era legacy] -- COMMAND ARGS…');
  process.exit(2);
}
await main(positionals);
process.exit(failed ? 1 : 0);
