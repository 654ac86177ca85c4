// The TypeScript SDK logs in: `node oauth.mjs --scoped TOOL -- URL OTHER`.
//
// URL and OTHER are servers that one authorization server protects, TOOL needs a scope that nobody asks for at
// first. `BROWSER` names the program that is a person at a browser. Runs the checks of ../oauth/checks.txt, prints one
// JSON line for each, and exits with 0 if none failed.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const TIMEOUT = 60_000;

/** What the SDK leaves to its users: what is kept, and the way to the browser and back. */
class Login {
  visits = 0;
  /** The SDK refreshes where a step-up is wanted, as long as it has a refresh token. */
  steppingUp = false;

  static async listening() {
    const login = new Login();
    login.listener = createServer((request, response) => login.redirected(request, response)).listen(0, '127.0.0.1');
    await once(login.listener, 'listening');
    login.redirectUrl = `http://127.0.0.1:${login.listener.address().port}/callback`;
    return login;
  }

  redirected(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.redirectUrl);
    response.end('You can close this.');
    if (pathname !== '/callback') {
      return;
    }
    if (searchParams.get('state') === this.expected && searchParams.has('code')) {
      this.resolve(searchParams.get('code'));
    } else {
      this.reject(new Error(`redirected with ${searchParams.get('error') ?? 'another state'}`));
    }
  }

  get clientMetadata() {
    return {
      client_name: 'typescript-sdk',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state() {
    this.expected = randomUUID();
    return this.expected;
  }

  clientInformation() {
    return this.client;
  }

  saveClientInformation(client) {
    this.client = client;
  }

  tokens() {
    return this.steppingUp ? { ...this.kept, refresh_token: undefined } : this.kept;
  }

  saveTokens(tokens) {
    this.kept = tokens;
    this.expiresAt = Date.now() + 1_000 * tokens.expires_in;
  }

  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }

  codeVerifier() {
    return this.verifier;
  }

  redirectToAuthorization(url) {
    this.visits += 1;
    this.code = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    spawn(process.env.BROWSER, [url.href], { stdio: ['ignore', 'ignore', 'inherit'] }).on('exit', (status) => {
      if (status !== 0) {
        this.reject(new Error(`the browser ended with ${status}`));
      }
    });
  }
}

/** One POST, with a token or without; what the SDK would make of it is not asked. */
async function knock(url, token) {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'knock', version: '1.0.0' },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await response.body?.cancel();
  return { status: response.status, challenge: response.headers.get('www-authenticate') ?? '' };
}

function expect(held, what, got) {
  if (!held) {
    throw new Error(`expected ${what}, got ${typeof got === 'string' ? got : JSON.stringify(got)}`);
  }
}

/** Runs it, and once more after the person has been to the browser. */
async function loggingIn(peer, run) {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) {
      throw error;
    }
    await peer.transport.finishAuth(await peer.login.code);
    return run();
  }
}

async function echo({ client }) {
  const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
  expect(content[0]?.text === 'hello', 'hello', content);
}

const CHECKS = {
  '401 names the metadata': async ({ url }) => {
    const { status, challenge } = await knock(url);
    expect(status === 401, 'a 401', status);
    const address = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
    expect(address, 'resource_metadata', challenge);
    const metadata = await (await fetch(address)).json();
    expect(metadata.resource === url, `the resource ${url}`, metadata);
    expect(metadata.authorization_servers?.length === 1, 'one issuer', metadata);
  },
  'login in the browser': async (peer) => {
    await loggingIn(peer, () => {
      peer.client = new Client({ name: 'typescript-sdk', version: '1.0.0' });
      peer.transport = new StreamableHTTPClientTransport(new URL(peer.url), { authProvider: peer.login });
      return peer.client.connect(peer.transport);
    });
    expect(peer.login.visits === 1, 'one visit', peer.login.visits);
    expect(peer.login.kept.refresh_token, 'a refresh token', Object.keys(peer.login.kept));
    return `scope ${peer.login.kept.scope}`;
  },
  'tools/call': echo,
  'refresh after expiry': async (peer) => {
    const { login } = peer;
    const before = login.kept;
    await sleep(Math.max(0, login.expiresAt - Date.now()) + 1_000);
    // The SDK does not look at the clock: it refreshes when it is refused, and clocks may differ a little.
    login.kept = { ...before, access_token: `${before.access_token}x` };
    await echo(peer);
    expect(login.visits === 1, 'no other visit', login.visits);
    expect(login.kept.access_token !== before.access_token, 'another access token', 'the same');
    expect(login.kept.refresh_token !== before.refresh_token, 'another refresh token', 'the same');
    return 'after a 401: the SDK does not look at the clock';
  },
  'step-up': async (peer) => {
    peer.login.steppingUp = true;
    const { isError } = await loggingIn(peer, () => peer.client.callTool({ name: peer.scoped, arguments: {} }));
    expect(!isError, 'a result', 'an error');
    expect(peer.login.visits === 2, 'a second visit', peer.login.visits);
    await echo(peer);
    return `scope ${peer.login.kept.scope}; without a refresh token, which the SDK would use instead`;
  },
  'token of another server refused': async ({ login, url, other }) => {
    const token = login.kept.access_token;
    const own = await knock(url, token);
    expect(own.status === 200, 'its own server to take it', own);
    const { status, challenge } = await knock(other, token);
    expect(status === 401 && challenge.includes('error="invalid_token"'), 'a 401, invalid_token', challenge);
  },
};

let failed = false;

function report(check, status, detail = '') {
  failed ||= status === 'fail';
  console.log(JSON.stringify({ check, status, detail }));
}

/** The promise, or an error after the timeout. */
function within(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${TIMEOUT / 1000} s`)), TIMEOUT);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const { values, positionals } = parseArgs({ options: { scoped: { type: 'string' } }, allowPositionals: true });
if (!values.scoped || positionals.length !== 2 || !process.env.BROWSER) {
  console.error('usage: BROWSER=PROGRAM oauth.mjs --scoped TOOL -- URL OTHER');
  process.exit(2);
}
const [url, other] = positionals;
const peer = { login: await Login.listening(), url, other, scoped: values.scoped };
for (const [name, run] of Object.entries(CHECKS)) {
  try {
    report(name, 'ok', await within(run(peer)));
  } catch (error) {
    report(name, 'fail', error.message);
  }
}
await peer.client?.close();
process.exit(failed ? 1 : 0);
