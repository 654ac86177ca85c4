// The fixed list of checks for the TypeScript SDK.
//
// A check is an async function over a connected `peer` (client.mjs); it returns a detail and
// throws when the server did something else than the contract says, or `Absent`.

import { isDeepStrictEqual } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { McpError } from '@modelcontextprotocol/sdk/types.js';

const TOOLS = [
  'echo',
  'add',
  'weather',
  'greet',
  'ask_model',
  'list_roots',
  'countdown',
  'log_lines',
  'sleep',
  'kinds',
  'fail',
  'toggle',
  'touch',
];
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const CLOCK = 'demo://clock';
const NOT_FOUND = [-32602, -32002];
const NOT_RESUMABLE = {
  stdio: 'a pipe that broke is gone',
  'http+sse': 'HTTP+SSE cannot take up a stream again',
};
export const ROOTS = ['file:///srv/one', 'file:///srv/two'];

/** The transport has no such feature. */
export class Absent extends Error {}

function expect(held, what, got) {
  if (!held) {
    throw new Error(`expected ${what}; got ${JSON.stringify(got)?.slice(0, 400)}`);
  }
}

function same(got, wanted, what) {
  expect(isDeepStrictEqual(got, wanted), `${what} ${JSON.stringify(wanted)}`, got);
}

/** Expects a JSON-RPC error with one of these codes. */
async function refused(pending, codes) {
  let result;
  try {
    result = await pending;
  } catch (error) {
    expect(error instanceof McpError && codes.includes(error.code), `an error of ${codes}`, String(error));
    return error.message;
  }
  throw new Error(`expected an error; got ${JSON.stringify(result).slice(0, 400)}`);
}

/** The text of a result's only block. */
function said({ content }) {
  expect(content.length === 1 && content[0].type === 'text', 'one text block', content);
  return content[0].text;
}

/** What has come in, after waiting at most two seconds for `count` of it. */
async function arrived(inbox, count) {
  for (let waited = 0; inbox.length < count && waited < 2000; waited += 10) {
    await pause(10);
  }
  return inbox;
}

/** Every page of a list. */
async function pages(list, key) {
  const items = [];
  let cursor;
  do {
    const page = await list(cursor === undefined ? {} : { cursor });
    items.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

const call = ({ client }, name, args = {}, options) =>
  client.callTool({ name, arguments: args }, undefined, options);
const listTools = ({ client }) => pages((params) => client.listTools(params), 'tools');
const listResources = ({ client }) => pages((params) => client.listResources(params), 'resources');

const lifecycle = {
  async handshake({ client, transport }) {
    const server = client.getServerVersion();
    const offered = client.getServerCapabilities();
    expect(client.getInstructions(), 'instructions', client.getInstructions());
    expect(server?.name, 'a server name', server);
    for (const capability of ['tools', 'resources', 'prompts', 'completions', 'logging']) {
      expect(offered[capability], `capability ${capability}`, offered);
    }
    expect(offered.tools.listChanged === true, 'tools.listChanged', offered);
    expect(offered.resources.subscribe === true, 'resources.subscribe', offered);
    return `${server.name} ${server.version}, ${transport.negotiated}`;
  },
  async ping({ client }) {
    await client.ping();
  },
};

const tools = {
  async 'tools/list'(peer) {
    const listed = Object.fromEntries((await listTools(peer)).map((tool) => [tool.name, tool]));
    const names = Object.keys(listed);
    expect(TOOLS.every((name) => names.includes(name)), 'every tool of the contract', names);
    expect(!names.includes('extra'), 'no tool `extra` yet', names);
    expect(listed.echo.annotations?.readOnlyHint === true, 'echo read-only', listed.echo);
    expect(listed.add.outputSchema && listed.weather.outputSchema, 'output schemas', listed);
    return `${names.length} tools`;
  },
  async 'tools/call echo'(peer) {
    const message = 'zwölf Boxkämpfer 🥊\n"quoted"';
    same(said(await call(peer, 'echo', { message })), message, 'the message');
  },
  async 'tools/call add structured'(peer) {
    const result = await call(peer, 'add', { a: 1, b: 2 });
    same(said(result), '3', 'the text');
    same(result.structuredContent, { result: 3 }, 'structuredContent');
    return JSON.stringify(result.structuredContent);
  },
  async 'tools/call weather structured'(peer) {
    const wanted = { city: 'Bern', celsius: 21.5, sky: 'clear' };
    const result = await call(peer, 'weather', { city: 'Bern' });
    same(result.structuredContent, wanted, 'structuredContent');
    same(JSON.parse(said(result)), wanted, 'its mirror as text');
  },
  async 'tools/call fail isError'(peer) {
    const result = await call(peer, 'fail', { message: 'no luck' });
    expect(result.isError === true && said(result) === 'no luck', 'an error result', result);
  },
  async 'tools/call kinds'(peer) {
    const { content } = await call(peer, 'kinds');
    const kinds = content.map((block) => block.type);
    same([...kinds].sort(), ['audio', 'image', 'resource', 'resource_link', 'text'], 'kinds');
    const of = (type) => content.find((block) => block.type === type);
    same(of('image').mimeType, 'image/png', 'the image as');
    same(of('audio').mimeType, 'audio/wav', 'the audio as');
    same(of('resource_link').uri, 'demo://readme', 'a link to');
    expect(of('resource').resource.text, 'an embedded text', of('resource'));
    return kinds.join(', ');
  },
  async 'tools/call unknown tool error'(peer) {
    return refused(call(peer, 'no_such_tool'), [-32602]);
  },
};

const resources = {
  async 'resources/list'(peer) {
    const listed = await listResources(peer);
    const wanted = { 'demo://readme': 'text/markdown', 'demo://logo.png': 'image/png', [CLOCK]: 'text/plain' };
    for (const [uri, mimeType] of Object.entries(wanted)) {
      same(listed.find((resource) => resource.uri === uri)?.mimeType, mimeType, `${uri} as`);
    }
    return `${listed.length} resources`;
  },
  async 'resources/read text'({ client }) {
    const { contents } = await client.readResource({ uri: 'demo://readme' });
    const [content] = contents;
    same([contents.length, content.uri, content.mimeType], [1, 'demo://readme', 'text/markdown'], 'the readme');
    expect(content.text, 'a text', content);
  },
  async 'resources/read blob'(peer) {
    const { contents } = await peer.client.readResource({ uri: 'demo://logo.png' });
    const blob = Buffer.from(contents[0].blob, 'base64');
    same(blob.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n', 'the beginning of a PNG');
    const logo = (await listResources(peer)).find((resource) => resource.uri === 'demo://logo.png');
    same(logo.size, blob.length, 'the listed size');
    return `${blob.length} bytes`;
  },
  async 'resources/read missing error'({ client }) {
    return refused(client.readResource({ uri: 'demo://nothing' }), NOT_FOUND);
  },
  async 'resources/templates/list'({ client }) {
    const listed = await pages((params) => client.listResourceTemplates(params), 'resourceTemplates');
    same(listed.find((t) => t.uriTemplate === 'demo://notes/{id}')?.name, 'note', 'the template of notes as');
    return `${listed.length} templates`;
  },
  async 'resources/read template'({ client }) {
    const { contents } = await client.readResource({ uri: 'demo://notes/beta' });
    same([contents[0].uri, contents[0].text], ['demo://notes/beta', 'note beta'], 'note beta');
    await refused(client.readResource({ uri: 'demo://notes/omega' }), NOT_FOUND);
  },
  async 'resources/subscribe updated'(peer) {
    await peer.client.subscribeResource({ uri: CLOCK });
    await call(peer, 'touch');
    same(await arrived(peer.updated, 1), [CLOCK], 'an update of');
    await peer.client.unsubscribeResource({ uri: CLOCK });
    peer.updated.length = 0;
    await call(peer, 'touch');
    await pause(300);
    same(peer.updated, [], 'silence after unsubscribing');
    return 'resources/subscribe';
  },
};

const prompts = {
  async 'prompts/list'({ client }) {
    const listed = await pages((params) => client.listPrompts(params), 'prompts');
    const names = listed.map((prompt) => prompt.name);
    expect(['greeting', 'review'].every((name) => names.includes(name)), 'greeting and review', names);
    const { arguments: args } = listed.find((prompt) => prompt.name === 'greeting');
    const required = Object.fromEntries(args.map((a) => [a.name, a.required ?? false]));
    same(required, { name: true, style: false }, 'arguments of greeting');
    return `${names.length} prompts`;
  },
  async 'prompts/get'({ client }) {
    const greeting = await client.getPrompt({ name: 'greeting', arguments: { name: 'Ada' } });
    const [message] = greeting.messages;
    expect(message.role === 'user' && message.content.text.includes('Ada'), 'a greeting of Ada', greeting);
    const { messages } = await client.getPrompt({ name: 'review', arguments: { code: 'let x = 1;' } });
    same(messages.map((m) => m.role), ['user', 'assistant'], 'roles');
    expect(messages[0].content.text.includes('let x = 1;'), 'the code', messages);
  },
  async 'prompts/get missing argument error'({ client }) {
    return refused(client.getPrompt({ name: 'greeting', arguments: {} }), [-32602]);
  },
  async 'completion prompt'({ client }) {
    const ref = { type: 'ref/prompt', name: 'greeting' };
    const { completion } = await client.complete({ ref, argument: { name: 'style', value: 'f' } });
    same([...completion.values].sort(), ['formal', 'friendly'], 'values');
  },
  async 'completion template'({ client }) {
    const ref = { type: 'ref/resource', uri: 'demo://notes/{id}' };
    const { completion } = await client.complete({ ref, argument: { name: 'id', value: 'a' } });
    same(completion.values, ['alpha'], 'values');
  },
};

const exchanges = {
  async 'logging setLevel + messages'(peer) {
    for (const level of ['warning', 'debug']) {
      const wanted = LEVELS.slice(LEVELS.indexOf(level));
      peer.logged.length = 0;
      await peer.client.setLoggingLevel(level);
      await call(peer, 'log_lines');
      const heard = (await arrived(peer.logged, wanted.length)).filter((m) => m.logger === 'demo');
      same(heard.map((m) => m.level), wanted, 'levels');
    }
    return 'logging/setLevel';
  },
  async progress(peer) {
    const heard = [];
    const onprogress = ({ progress, total, message }) => heard.push([progress, total, message]);
    const result = await call(peer, 'countdown', { steps: 5, delay_ms: 40 }, { onprogress });
    same(said(result), 'liftoff', 'the text');
    const wanted = [1, 2, 3, 4, 5].map((step) => [step, 5, `${step} of 5`]);
    // The SDK queues notifications but handles a response at once, and with it forgets whom to
    // tell of progress: a report read together with the response is lost in the client.
    expect(heard.length >= 3, 'at least three reports', heard);
    same(heard, wanted.slice(0, heard.length), 'reports');
    return heard.length === 5 ? '' : 'the SDK dropped what came together with the response';
  },
  async cancel(peer) {
    const abort = new AbortController();
    const pending = call(peer, 'sleep', { ms: 60_000 }, { signal: abort.signal });
    setTimeout(() => abort.abort('a check'), 300);
    const end = await pending.then((result) => `an answer: ${JSON.stringify(result)}`, () => 'cancelled');
    same(end, 'cancelled', 'the call');
    same(said(await call(peer, 'echo', { message: 'still here' })), 'still here', 'an answer after it');
    return 'notifications/cancelled, sent by the SDK for an aborted signal';
  },
};

const asks = {
  async sampling(peer) {
    const result = await call(peer, 'ask_model', { question: 'How much is six times seven?' });
    const [request] = peer.sampled;
    same(request.maxTokens, 100, 'maxTokens');
    expect(JSON.stringify(request.messages).includes('six times seven'), 'the question', request);
    same(said(result), 'It is 42.', "the model's words");
  },
  async 'elicitation accept'(peer) {
    peer.reply = { action: 'accept', content: { name: 'Ada' } };
    same(said(await call(peer, 'greet', { greeting: 'Hello' })), 'Hello, Ada!', 'the text');
    expect(peer.elicited.at(-1).requestedSchema.properties.name, 'a form with a name', peer.elicited);
  },
  async 'elicitation decline'(peer) {
    peer.reply = { action: 'decline' };
    const result = await call(peer, 'greet', { greeting: 'Hello' });
    expect(result.isError === true, 'an error result', result);
    return said(result);
  },
  async roots(peer) {
    const { content } = await call(peer, 'list_roots');
    same(content.map((block) => block.text), ROOTS, 'both roots');
  },
  async list_changed(peer) {
    for (const present of [true, false]) {
      peer.changed.length = 0;
      await call(peer, 'toggle');
      expect((await arrived(peer.changed, 1)).length > 0, 'a notification', peer.changed);
      const names = (await listTools(peer)).map((tool) => tool.name);
      same(names.includes('extra'), present, 'the presence of extra:');
      if (present) {
        same(said(await call(peer, 'extra')), 'extra', 'a call of');
      }
    }
    return 'notifications/tools/list_changed';
  },
  async resume(peer) {
    if (NOT_RESUMABLE[peer.over] !== undefined) {
      throw new Absent(NOT_RESUMABLE[peer.over]);
    }
    const heard = [];
    const onprogress = ({ progress }) => heard.push(progress);
    // The relay breaks the connection in the middle of the third report.
    const result = await call(peer, 'countdown', { steps: 7, delay_ms: 200 }, { onprogress });
    same(said(result), 'liftoff', 'the text');
    const inOrder = heard.every((step, place) => place === 0 || step > heard[place - 1]);
    expect(heard.length >= 2 && inOrder, 'reports in order, none twice', heard);
    return `${heard.length} of 7 reports; the SDK drops those read together with the response`;
  },
};

/** Every check but `close`, which the client makes itself, in order. */
export const CHECKS = { ...lifecycle, ...tools, ...resources, ...prompts, ...exchanges, ...asks };
