// What the TypeScript server offers: one `McpServer` of the SDK for each connection, legacy era (the SDK has no
// other). Knows no transport.
//
// What the SDK decides by itself stays as it is, so that clients meet what real servers of
// this SDK do: an unknown tool is an `isError` result, a missing resource -32602.

import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import {
  ErrorCode,
  McpError,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

// One black pixel; one silent sample.
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQEAAACAAA==';
const README = '# Readme\n\nThe text resource of the interoperability server.\n';
const CLOCK = 'demo://clock';
const NOTES = ['alpha', 'beta', 'gamma'];
const STYLES = ['formal', 'friendly', 'pirate'];
const LANGUAGES = ['rust', 'ruby', 'python', 'typescript', 'go'];
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

const text = (said) => ({ type: 'text', text: said });
const answer = (...content) => ({ content });
const startingWith = (candidates) => (value) => candidates.filter((c) => c.startsWith(value ?? ''));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function plainTools(server) {
  server.registerTool(
    'echo',
    {
      description: 'Repeats a message.',
      inputSchema: { message: z.string() },
      annotations: { readOnlyHint: true },
    },
    ({ message }) => answer(text(message)),
  );
  server.registerTool(
    'add',
    {
      description: 'Adds two integers.',
      inputSchema: { a: z.number().int(), b: z.number().int() },
      outputSchema: { result: z.number().int() },
    },
    ({ a, b }) => ({ ...answer(text(String(a + b))), structuredContent: { result: a + b } }),
  );
  server.registerTool(
    'weather',
    {
      description: 'Reports the weather.',
      inputSchema: { city: z.string() },
      outputSchema: { city: z.string(), celsius: z.number(), sky: z.string() },
    },
    ({ city }) => {
      const report = { city, celsius: 21.5, sky: 'clear' };
      return { ...answer(text(JSON.stringify(report))), structuredContent: report };
    },
  );
  server.registerTool('kinds', { description: 'Answers with every kind of content.' }, () =>
    answer(
      text('text'),
      { type: 'image', data: PNG, mimeType: 'image/png' },
      { type: 'audio', data: WAV, mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'demo://readme', name: 'readme' },
      { type: 'resource', resource: { uri: 'demo://readme', mimeType: 'text/markdown', text: README } },
    ),
  );
  server.registerTool(
    'fail',
    { description: 'Fails.', inputSchema: { message: z.string() } },
    ({ message }) => ({ ...answer(text(message)), isError: true }),
  );
}

function askingTools(server) {
  server.registerTool(
    'greet',
    { description: 'Asks for a name and greets it.', inputSchema: { greeting: z.string() } },
    async ({ greeting }) => {
      const reply = await server.server.elicitInput({
        message: 'Who is there?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      });
      if (reply.action !== 'accept') {
        return { ...answer(text(`nobody said who they are: ${reply.action}`)), isError: true };
      }
      return answer(text(`${greeting}, ${reply.content.name}!`));
    },
  );
  server.registerTool(
    'ask_model',
    { description: "Asks the client's model.", inputSchema: { question: z.string() } },
    async ({ question }) => {
      const reply = await server.server.createMessage({
        messages: [{ role: 'user', content: text(question) }],
        maxTokens: 100,
      });
      return answer(text(reply.content.text));
    },
  );
  server.registerTool('list_roots', { description: "Lists the client's roots." }, async () => {
    const { roots } = await server.server.listRoots();
    return answer(...roots.map((root) => text(root.uri)));
  });
}

function slowTools(server) {
  server.registerTool(
    'countdown',
    {
      description: 'Reports progress.',
      inputSchema: { steps: z.number().int().min(1).max(1000), delay_ms: z.number().int().default(0) },
    },
    async ({ steps, delay_ms }, { _meta, sendNotification }) => {
      for (let step = 1; step <= steps; step += 1) {
        await pause(delay_ms);
        if (_meta?.progressToken !== undefined) {
          const params = { progressToken: _meta.progressToken, progress: step, total: steps };
          params.message = `${step} of ${steps}`;
          await sendNotification({ method: 'notifications/progress', params });
        }
      }
      return answer(text('liftoff'));
    },
  );
  server.registerTool('log_lines', { description: 'Logs once at every level.' }, async ({ sessionId }) => {
    for (const level of LEVELS) {
      // The SDK keeps the level by the transport's session.
      await server.sendLoggingMessage({ level, logger: 'demo', data: `a line at ${level}` }, sessionId);
    }
    return answer(text('logged'));
  });
  server.registerTool(
    'sleep',
    { description: 'Waits; can be cancelled.', inputSchema: { ms: z.number().int() } },
    ({ ms }, { signal }) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve(answer(text('slept'))), ms);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          console.error('cancelled');
          reject(signal.reason);
        });
      }),
  );
}

function changingTools(server, state) {
  const extra = server.registerTool('extra', { description: 'Is not always there.' }, () => answer(text('extra')));
  extra.disable();
  server.registerTool('toggle', { description: 'Adds or removes the tool `extra`.' }, () => {
    if (extra.enabled) {
      extra.disable();
    } else {
      extra.enable();
    }
    return answer(text(extra.enabled ? 'extra is here' : 'extra is gone'));
  });
  server.registerTool('touch', { description: 'Changes demo://clock.' }, async () => {
    state.touched += 1;
    if (state.watched.has(CLOCK)) {
      await server.server.sendResourceUpdated({ uri: CLOCK });
    }
    return answer(text('touched'));
  });
}

function resources(server, state) {
  const reading = (mimeType, content) => (uri) => ({ contents: [{ uri: uri.href, mimeType, ...content() }] });
  const size = Buffer.from(PNG, 'base64').length;
  server.registerResource(
    'readme',
    'demo://readme',
    { mimeType: 'text/markdown' },
    reading('text/markdown', () => ({ text: README })),
  );
  server.registerResource(
    'logo',
    'demo://logo.png',
    { mimeType: 'image/png', size },
    reading('image/png', () => ({ blob: PNG })),
  );
  server.registerResource(
    'clock',
    CLOCK,
    { mimeType: 'text/plain' },
    reading('text/plain', () => ({ text: `tick ${state.touched}` })),
  );
  const notes = new ResourceTemplate('demo://notes/{id}', {
    list: undefined,
    complete: { id: startingWith(NOTES) },
  });
  server.registerResource('note', notes, { mimeType: 'text/plain' }, (uri, { id }) => {
    if (!NOTES.includes(id)) {
      throw new McpError(ErrorCode.InvalidParams, `no note ${id}`);
    }
    return { contents: [{ uri: uri.href, mimeType: 'text/plain', text: `note ${id}` }] };
  });
  // The SDK tracks no subscriptions; its users do.
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    state.watched.add(params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    state.watched.delete(params.uri);
    return {};
  });
}

function prompts(server) {
  const message = (role, said) => ({ role, content: text(said) });
  server.registerPrompt(
    'greeting',
    {
      description: 'Greets somebody.',
      argsSchema: { name: z.string(), style: completable(z.string().optional(), startingWith(STYLES)) },
    },
    ({ name, style = 'friendly' }) => ({ messages: [message('user', `Greet ${name} in a ${style} way.`)] }),
  );
  server.registerPrompt(
    'review',
    {
      description: 'Reviews code.',
      argsSchema: { code: z.string(), language: completable(z.string().optional(), startingWith(LANGUAGES)) },
    },
    ({ code }) => ({
      messages: [message('user', `Review this code:\n${code}`), message('assistant', 'Reading it now.')],
    }),
  );
}

/** A server with everything registered, ready for one connection. */
export function makeServer() {
  const server = new McpServer(
    { name: 'typescript-sdk', version: '1.0.0' },
    {
      instructions: 'A server for interoperability runs. Start with the tool `echo`.',
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } },
    },
  );
  const state = { watched: new Set(), touched: 0 };
  plainTools(server);
  askingTools(server);
  slowTools(server);
  changingTools(server, state);
  resources(server, state);
  prompts(server);
  return server;
}
