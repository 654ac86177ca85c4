// The client: one session, so many calls of `echo` in flight, every answer checked. It prints `begin` and `end` for
// whoever measures it from outside, and stays until its stdin ends so that it can be measured.

import { writeSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const MODERN = '2026-07-28';
const WARM_UP = 1000;
const MESSAGE = 'x'.repeat(64);

function newTransport(over, target) {
  switch (over) {
    case 'stdio':
      return new StdioClientTransport({ command: target, args: ['stdio'], stderr: 'inherit' });
    case 'http':
      return new StreamableHTTPClientTransport(new URL(target));
    default:
      throw new Error(`${over} is neither stdio nor http`);
  }
}

/** A client that speaks this revision and no other. */
function newClient(era) {
  const versionNegotiation = { mode: era === MODERN ? { pin: MODERN } : 'legacy' };
  const options = { versionNegotiation, supportedProtocolVersions: [era] };
  return new Client({ name: 'typescript-sdk-bench', version: '1.0.0' }, options);
}

async function call(client) {
  const { content } = await client.callTool({ name: 'echo', arguments: { message: MESSAGE } });
  if (content.length !== 1 || content[0].text !== MESSAGE) {
    throw new Error(`wrong answer: ${JSON.stringify(content)}`);
  }
}

/** Makes the calls with `window` callers; how long each call took, in milliseconds. */
async function load(client, calls, window) {
  const took = new Float64Array(calls);
  let next = 0;
  const caller = async () => {
    while (next < calls) {
      const at = next;
      next += 1;
      const begun = performance.now();
      await call(client);
      took[at] = performance.now() - begun;
    }
  };
  await Promise.all(Array.from({ length: window }, caller));
  return took;
}

// Not `console.log`, which may be late on a pipe.
const say = (line) => writeSync(1, `${line}\n`);

async function measure(client, calls, window) {
  await load(client, WARM_UP, window);
  say('begin');
  const begun = performance.now();
  const took = await load(client, calls, window);
  const elapsed_s = (performance.now() - begun) / 1e3;
  took.sort();
  const micros = (part) => Math.round(took[Math.floor(calls * part)] * 1e4) / 10;
  say(`end ${JSON.stringify({ calls, elapsed_s, p50_us: micros(0.5), p99_us: micros(0.99) })}`);
  for await (const _ of process.stdin);
}

export async function runClient(era, over, target, calls, window) {
  const client = newClient(era);
  const transport = newTransport(over, target);
  await client.connect(transport);
  try {
    await measure(client, calls, window);
  } finally {
    await transport.terminateSession?.();
    await client.close();
  }
}
