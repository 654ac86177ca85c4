// An authorization server that is not ours: `node issuer.mjs --listen 127.0.0.1:0 [--scopes "a b"] [--seconds N]`.
//
// oidc-provider as its authors ship it, with the pages that it brings: dynamic registration and
// resource indicators are on, access tokens are JWTs for the resource that was asked for, and
// refresh tokens are issued and rotated by its own rules. It writes `listening on URL` to stderr and then
// one line of JSON for each thing that it was asked, never a code or a token.

import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import Provider, { errors } from 'oidc-provider';

const { values } = parseArgs({
  options: {
    listen: { type: 'string', default: '127.0.0.1:0' },
    scopes: { type: 'string', default: '' },
    seconds: { type: 'string', default: '300' },
  },
});
const [host, port] = values.listen.split(':');
if (host !== '127.0.0.1') {
  console.error('issuer.mjs: it is for tests, and listens on 127.0.0.1 only');
  process.exit(2);
}

function note(event, what) {
  process.stderr.write(`${JSON.stringify({ event, ...what })}\n`);
}

/** The parameters that say what was asked for, and none that is a secret. */
function asked({ oidc: { params = {}, client } }) {
  return {
    client: client?.clientName,
    application_type: client?.applicationType,
    grant_type: params.grant_type,
    resource: params.resource,
    scope: params.scope,
    prompt: params.prompt,
    code_challenge_method: params.code_challenge_method,
  };
}

/** A private key as a JWK. */
function key(type, options, rest) {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', ...rest };
}

/** Every server on this machine is a resource; a token is for one of them. */
function resourceServer(_context, resource) {
  if (new URL(resource).hostname !== '127.0.0.1') {
    throw new errors.InvalidTarget();
  }
  return {
    scope: values.scopes,
    accessTokenTTL: Number(values.seconds),
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'RS256' } },
  };
}

const configuration = {
  cookies: { keys: [randomBytes(32).toString('hex')] },
  // Two keys, of which one is never used for access tokens: who verifies has to choose.
  jwks: {
    keys: [
      key('ec', { namedCurve: 'P-256' }, { kid: 'another', alg: 'ES256' }),
      key('rsa', { modulusLength: 2048 }, { kid: 'the one', alg: 'RS256' }),
    ],
  },
  scopes: ['openid', 'offline_access'],
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: { enabled: true, getResourceServerInfo: resourceServer },
  },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
};

const server = createServer();
server.listen(Number(port), host, () => {
  const issuer = `http://${host}:${server.address().port}`;
  const provider = new Provider(issuer, configuration);
  provider.on('authorization.accepted', (context) => note('authorization', asked(context)));
  provider.on('grant.success', (context) => note('grant', asked(context)));
  provider.on('registration_create.success', (_context, client) => {
    note('registration', { client: client.clientName, application_type: client.applicationType });
  });
  const failures = ['authorization.error', 'grant.error', 'registration_create.error', 'server_error'];
  for (const name of failures) {
    provider.on(name, (context, error) => {
      note(name, { ...asked(context), error: error.error ?? error.message, detail: error.error_description });
    });
  }
  server.on('request', provider.callback());
  process.stderr.write(`listening on ${issuer}\n`);
});
