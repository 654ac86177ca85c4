// The benchmark's program on the TypeScript SDK, version 2 (@modelcontextprotocol/server, /node and /client).
//
//   node main.mjs stdio [--tuned] [--tools N]
//   node main.mjs http PORT [--stateless] [--sse] [--tuned] [--tools N]
//   node main.mjs client ERA stdio|http TARGET CALLS WINDOW [--tuned]
//
// What the SDK's documentation says about speed, and what is set here:
//
// - A factory that makes a server for each connection (stdio), session or request (HTTP), as the SDK wants it, "cheap":
//   everything that can be shared, so the schemas, is made once. Always so.
// - `node:http` with the SDK's guards for Host and Origin in front, which is how the documentation mounts it without a
//   framework. Always so.
// - `enableJsonResponse` for the transports of 2025. Here with --tuned and with --stateless; a transport that answers with
//   JSON drops progress, so --sse takes it back. In 2026-07-28 the SDK by itself answers with JSON unless there is progress.
// - A body that was parsed already is passed on, so that the SDK does not read it again. With --tuned it is parsed here,
//   which spares the SDK a web stream for each request.
// - Sessions in a map, as its page on sessions has them; without --stateless only.
// - Over stdio, and for the client, there is nothing to set: --tuned changes nothing.
//
// Start it with NODE_ENV=production. Refuses to listen on anything but the loopback address.

import { parseArgs } from 'node:util';
import { runClient } from './client.mjs';
import { serveHttp, serveStdio } from './serve.mjs';

const USAGE = `usage: main.mjs stdio [--tuned] [--tools N]
       main.mjs http PORT [--stateless] [--sse] [--tuned] [--tools N]
       main.mjs client ERA stdio|http TARGET CALLS WINDOW [--tuned]`;

function fail(reason) {
  console.error(`typescript-sdk: ${reason}`);
  process.exit(1);
}

/** A whole number from `least` on. */
function number(word, least) {
  const value = Number(word);
  return Number.isInteger(value) && value >= least ? value : fail(`${word} is not a number from ${least} on`);
}

function parse() {
  const flag = { type: 'boolean', default: false };
  const options = { stateless: flag, sse: flag, tuned: flag, tools: { type: 'string', default: '0' } };
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return fail(`${error.message}\n${USAGE}`);
  }
}

const { values, positionals } = parse();
const [mode, ...words] = positionals;
const given = { ...values, tools: number(values.tools, 0) };

try {
  if (mode === 'stdio' && words.length === 0) {
    serveStdio(given);
  } else if (mode === 'http' && words.length === 1) {
    serveHttp(number(words[0], 1), given);
  } else if (mode === 'client' && words.length === 5) {
    const [era, over, target, calls, window] = words;
    await runClient(era, over, target, number(calls, 1), number(window, 1));
  } else {
    fail(USAGE);
  }
} catch (error) {
  fail(error.message);
}
