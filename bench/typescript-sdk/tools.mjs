// The tools that every program of the benchmark has, each as the SDK teaches it: `registerTool` with a Zod schema, which
// the SDK checks every call against.

import { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';

const STEPS = 10;

// Made once: `newServer` may be called for every request.
const Echo = z.object({ message: z.string() });
const Nothing = z.object({});
const Blob = z.object({ size: z.number().int().nonnegative() });
const Length = z.object({ text: z.string() });
const City = z.object({ city: z.string() });
const Weather = z.object({
  city: z.string(),
  celsius: z.number(),
  wind: z.object({ speed: z.number(), from: z.string() }),
  hours: z.array(z.object({ hour: z.number().int(), celsius: z.number() })),
});
const Order = z.object({
  order: z.object({
    customer: z.object({
      name: z.string(),
      address: z.object({ street: z.string(), city: z.string(), zip: z.string() }),
    }),
    lines: z.array(z.object({ sku: z.string(), quantity: z.number().int(), price: z.number() })),
  }),
  note: z.string().optional(),
});

const text = (said) => ({ content: [{ type: 'text', text: said }] });

async function walk(_, { mcpReq }) {
  const progressToken = mcpReq._meta?.progressToken;
  for (let progress = 1; progressToken !== undefined && progress <= STEPS; progress += 1) {
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: STEPS } });
  }
  return text('done');
}

async function forecast({ city }) {
  const hours = Array.from({ length: 24 }, (_, hour) => ({ hour, celsius: 20.5 }));
  const weather = { city, celsius: 21.5, wind: { speed: 3.5, from: 'NW' }, hours };
  return { ...text(JSON.stringify(weather)), structuredContent: weather };
}

const TOOLS = [
  ['echo', { description: 'Says the message back.', inputSchema: Echo }, async ({ message }) => text(message)],
  ['steps', { description: 'Reports ten steps of progress.', inputSchema: Nothing }, walk],
  ['blob', { description: 'A text of so many bytes.', inputSchema: Blob }, async ({ size }) => text('x'.repeat(size))],
  [
    'length',
    { description: 'Counts the bytes of a text.', inputSchema: Length },
    async (given) => text(String(Buffer.byteLength(given.text))),
  ],
  [
    'weather',
    { description: 'The weather of a city, by the hour.', inputSchema: City, outputSchema: Weather },
    forecast,
  ],
];

/** The server with its tools, and `more` besides. */
export function newServer(more) {
  const server = new McpServer({ name: 'typescript-sdk-bench', version: '1.0.0' });
  for (const tool of TOOLS) {
    server.registerTool(...tool);
  }
  for (let number = 0; number < more; number += 1) {
    const about = { description: `Takes an order at counter ${number}.`, inputSchema: Order };
    server.registerTool(`tool_${number}`, about, async () => text('ordered'));
  }
  return server;
}
