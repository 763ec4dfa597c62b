// What the conformance suite runs as the client under test: the gateway in front of the suite's mock server, driven by
// the official client. The server's URL is the last argument; with HOLDFAST_DIRECT set the gateway is left out.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { serve } from '../lib/gateway.mjs';

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const upstream = process.argv.at(-1);
const modern = revision === '2026-07-28';

const samples = { string: 'sample', number: 2, integer: 2, boolean: true, array: [], object: {} };

// Plausible arguments for any tool: each required property by its type.
function argumentsFor(tool) {
  const { properties = {}, required = [] } = tool.inputSchema ?? {};
  return Object.fromEntries(required.map((name) => [name, properties[name]?.enum?.[0] ?? samples[properties[name]?.type] ?? null]));
}

async function callTools(client) {
  const { tools } = await client.listTools();
  if (context.toolCalls) {
    for (const call of context.toolCalls) await client.callTool(call);
    return;
  }
  for (const tool of tools) await client.callTool({ name: tool.name, arguments: argumentsFor(tool) });
}

async function visit(client) {
  const offers = client.getServerCapabilities() ?? {};
  if (offers.tools || scenario !== 'initialize') await callTools(client);
  if (offers.resources) {
    const { resources } = await client.listResources();
    for (const { uri } of resources) await client.readResource({ uri });
  }
  if (offers.prompts) {
    const { prompts } = await client.listPrompts();
    for (const { name } of prompts) await client.getPrompt({ name });
  }
}

function connectable() {
  const capabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} };
  const client = new Client(
    { name: 'holdfast-conformance', version: '1.0.0' },
    { capabilities, ...(modern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}) },
  );
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }));
  client.setRequestHandler('roots/list', async () => ({ roots: [] }));
  client.setRequestHandler('sampling/createMessage', async () => ({
    role: 'assistant',
    content: { type: 'text', text: 'sample' },
    model: 'none',
  }));
  return client;
}

const cleanups = [];
let url = new URL(upstream);
if (!process.env.HOLDFAST_DIRECT) {
  // One of the suite's own calls has a null that the schema of its tool does not allow.
  const mock = { url: upstream, era: modern ? 'modern' : 'legacy', instance: 'session', validate: 'warn' };
  const gateway = await serve({ mcpServers: { mock } }, { defer: (action) => cleanups.push(action) });
  url = gateway.url('mock');
}
const client = connectable();
let failed = 0;
try {
  await client.connect(new StreamableHTTPClientTransport(url));
  await visit(client);
  await client.close();
} catch (error) {
  console.error(error);
  failed = 1;
}
for (const action of cleanups.reverse()) await action();
process.exit(failed);
