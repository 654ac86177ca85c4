// The TypeScript SDK as a client of the gateway: `node gateway.mjs URL FOLDER`.
//
// Behind the URL are server-everything, server-filesystem (with the folder), server-memory and
// mcp-server-time, each under its own prefix. Runs every check of gateway/checks.txt, prints one JSON
// line for each, and exits with 0 if none failed.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const EXPECTED = ['everything__echo', 'files__read_text_file', 'memory__create_entities', 'time__convert_time'];
const DOCUMENT = 'everything+demo://resource/static/document/features.md';

const [url, folder] = process.argv.slice(2);
const elicited = [];

function expect(found, wanted) {
  if (!String(found).includes(wanted)) {
    throw new Error(`no ${JSON.stringify(wanted)} in ${JSON.stringify(found)?.slice(0, 300)}`);
  }
  return wanted;
}

async function call(client, name, args, options) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  if (result.isError) {
    throw new Error(`the tool failed: ${JSON.stringify(result)}`);
  }
  return result;
}

const text = ({ content }) => content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');

const CHECKS = {
  async 'tools of all servers'(client) {
    const names = [];
    let cursor;
    do {
      const page = await client.listTools({ cursor });
      names.push(...page.tools.map((tool) => tool.name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const missing = EXPECTED.filter((name) => !names.includes(name));
    if (missing.length > 0 || new Set(names).size !== names.length) {
      throw new Error(`missing: ${missing}, of ${names.length}`);
    }
    return `${names.length} tools`;
  },
  'everything: call': async (client) =>
    expect(text(await call(client, 'everything__echo', { message: 'hello' })), 'Echo: hello'),
  async 'everything: structured'(client) {
    const result = await call(client, 'everything__get-structured-content', { location: 'New York' });
    return expect(JSON.stringify(result.structuredContent), 'temperature');
  },
  async 'everything: progress'(client) {
    const seen = [];
    const onprogress = ({ progress }) => seen.push(progress);
    const name = 'everything__trigger-long-running-operation';
    await call(client, name, { duration: 1, steps: 4 }, { onprogress });
    if (seen.join() !== '1,2,3,4') {
      throw new Error(`progress: ${seen}`);
    }
    return '4 reports';
  },
  async 'everything: elicitation'(client) {
    elicited.length = 0;
    const result = await call(client, 'everything__trigger-elicitation-request', {});
    if (elicited.length !== 1) {
      throw new Error(`asked ${elicited.length} times`);
    }
    expect(elicited[0].message, 'everything');
    return expect(text(result).toLowerCase(), 'decline');
  },
  async 'everything: prompt'(client) {
    const result = await client.getPrompt({ name: 'everything__args-prompt', arguments: { city: 'Bonn' } });
    return expect(result.messages[0].content.text, 'Bonn');
  },
  async 'everything: resource'(client) {
    const { resources } = await client.listResources();
    expect(resources.map((resource) => resource.uri).join(' '), DOCUMENT);
    return expect((await client.readResource({ uri: DOCUMENT })).contents[0].uri, DOCUMENT);
  },
  async 'everything: template'(client) {
    const uri = 'everything+demo://resource/dynamic/text/1';
    return expect((await client.readResource({ uri })).contents[0].text, 'Resource 1');
  },
  async 'everything: link'(client) {
    const { content } = await call(client, 'everything__get-resource-links', { count: 1 });
    const { uri } = content.find((part) => part.type === 'resource_link');
    return expect((await client.readResource({ uri })).contents[0].uri, uri);
  },
  async 'everything: completion'(client) {
    const ref = { type: 'ref/prompt', name: 'everything__completable-prompt' };
    const { completion } = await client.complete({ ref, argument: { name: 'department', value: 'E' } });
    return expect(completion.values.join(), 'Engineering');
  },
  'files: call': async (client) =>
    expect(text(await call(client, 'files__read_text_file', { path: `${folder}/hello.txt` })), 'gateway'),
  async 'memory: call'(client) {
    const entity = { name: 'Bonn', entityType: 'city', observations: ['on the Rhine'] };
    await call(client, 'memory__create_entities', { entities: [entity] });
    return expect(text(await call(client, 'memory__read_graph', {})), 'on the Rhine');
  },
  async 'time: call'(client) {
    const args = { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };
    return expect(text(await call(client, 'time__convert_time', args)), '21:00');
  },
  async 'unknown tool'(client) {
    const result = await client.callTool({ name: 'nobody__nothing', arguments: {} }).catch((error) => error);
    if (!(result instanceof Error)) {
      throw new Error(`answered: ${JSON.stringify(result)}`);
    }
    return result.message;
  },
};

let failed = false;

function report(check, status, detail) {
  failed ||= status === 'fail';
  console.log(JSON.stringify({ check, status, detail }));
}

const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const client = new Client({ name: 'typescript-sdk', version: '1.0.0' }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  elicited.push(params);
  return { action: 'decline' };
});
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
for (const [name, run] of Object.entries(CHECKS)) {
  try {
    report(name, 'ok', await run(client));
  } catch (error) {
    report(name, 'fail', error.message);
  }
}
await client.close();
process.exit(failed ? 1 : 0);
