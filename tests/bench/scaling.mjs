// How costs grow: what a list and a call take with n, 2n and 4n tools, and what memory a tool, an idle stream, a held call
// and an upstream take. Times are the gateway's own processor time, so that neither client nor server is counted.
//   node scaling.mjs [BUILD]
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

process.env.HOLDFAST ??= path.resolve(process.argv[2] ?? 'build', 'holdfast');
const { serve } = await import('../lib/gateway.mjs');
const [TOOLS, LISTS, CALLS, STREAMS, HELD, UPSTREAMS] = [1250, 20, 500, 2000, 1000, 200];
const schema = { type: 'object', properties: { path: { type: 'string', description: 'what to read' }, limit: { type: 'integer' } } };

// A server with `count` tools; `held` keeps what calls of `hold` wait for.
function server(count) {
  const tools = Array.from({ length: count }, (_, i) => ({ name: `tool${i}`, description: 'Reads a file, or a part of it.', inputSchema: schema }));
  const list = JSON.stringify([...tools, { name: 'hold', inputSchema: { type: 'object' } }]);
  const results = {
    initialize: () => '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}',
    'tools/list': () => `{"tools":${list}}`,
    'tools/call': () => '{"content":[{"type":"text","text":"done"}]}',
  };
  const held = [];
  const listener = http.createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const message = JSON.parse(Buffer.concat(parts));
      if (message.id === undefined) return void response.writeHead(202).end();
      const answer = () => response.writeHead(200, { 'Content-Type': 'application/json' })
        .end(`{"jsonrpc":"2.0","id":${message.id},"result":${results[message.method]?.() ?? '{}'}}`);
      if (message.params?.name === 'hold') held.push(answer);
      else answer();
    });
  });
  return new Promise((resolve) => listener.listen(0, '127.0.0.1', () => {
    resolve({ url: `http://127.0.0.1:${listener.address().port}/mcp`, held, close: () => listener.closeAllConnections() ?? listener.close() });
  }));
}

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
const accept = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json', 'MCP-Protocol-Version': '2025-11-25' };

// Resolves with the text, or, of a stream, with the response once it is open.
function exchange(url, method, headers, body, open = false) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers: { ...accept, ...headers }, agent }, (response) => {
      if (open) return resolve(response);
      let text = '';
      response.on('data', (part) => (text += part));
      response.on('end', () => resolve({ text, headers: response.headers }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

async function session(url) {
  const params = '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}';
  const { headers } = await exchange(url, 'POST', {}, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":${params}}`);
  const own = { 'Mcp-Session-Id': headers['mcp-session-id'] };
  await exchange(url, 'POST', own, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
  let id = 0;
  const ask = (method, params = '{}') => exchange(url, 'POST', own, `{"jsonrpc":"2.0","id":${++id},"method":"${method}","params":${params}}`);
  return { ask, headers: own };
}

const cpuMs = ({ child }) => Number(fs.readFileSync(`/proc/${child.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
const rssKiB = ({ child }) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]);

async function during(gateway, times, action) {
  const before = cpuMs(gateway);
  for (let i = 0; i < times; i++) await action(i);
  return (cpuMs(gateway) - before) / times;
}

async function bed(counts, body) {
  const cleanups = [];
  const servers = [];
  for (const count of counts) servers.push(await server(count));
  const mcpServers = Object.fromEntries(servers.map(({ url }, i) => [`s${i}`, { url, era: 'legacy', connections: 1000 }]));
  const limits = { sessionsPerPrincipal: 16384, callsPerClient: 4096, listWait: '20s' };
  const policies = { default: { concurrency: { calls: 2000 } } };
  const gateway = await serve({ mcpServers, limits, policies, store: { enabled: false }, log: { format: 'json' } }, { defer: (action) => cleanups.push(action) });
  try {
    return await body(gateway, servers);
  } finally {
    agent.destroy();
    for (const action of cleanups.reverse()) await action();
    for (const one of servers) one.close();
  }
}

async function withTools(count) {
  return bed([count], async (gateway) => {
    const empty = rssKiB(gateway);
    const { ask } = await session(gateway.url());
    const { text } = await ask('tools/list');
    const kib = (rssKiB(gateway) - empty) / count;
    const list = await during(gateway, LISTS, () => ask('tools/list'));
    const call = await during(gateway, CALLS, (i) => ask('tools/call', `{"name":"s0__tool${(i * 7919) % count}","arguments":{"path":"a"}}`));
    const again = await during(gateway, CALLS, (i) => ask('tools/call', `{"name":"s0__tool${i % 10}","arguments":{"path":"b"}}`));
    return { count, list, bytes: text.length, call, again, kib };
  });
}

const memory = {
  'idle stream': () => bed([1], async (gateway) => {
    await session(gateway.url());
    const before = rssKiB(gateway);
    for (let i = 0; i < STREAMS; i++) await exchange(gateway.url(), 'GET', (await session(gateway.url())).headers, undefined, true);
    return [(rssKiB(gateway) - before) / STREAMS, STREAMS];
  }),
  'held call': () => bed([1], async (gateway, [{ held }]) => {
    const { ask } = await session(gateway.url());
    await ask('tools/list');
    const before = rssKiB(gateway);
    const pending = Array.from({ length: HELD }, (_, i) => ask('tools/call', `{"name":"s0__hold","arguments":{"i":${i}}}`));
    while (held.length < HELD) await new Promise((resolve) => setTimeout(resolve, 5));
    const used = (rssKiB(gateway) - before) / HELD;
    for (const answer of held) answer();
    await Promise.all(pending);
    return [used, HELD];
  }),
  upstream: async () => {
    const full = await bed(Array.from({ length: UPSTREAMS }, () => 5), async (gateway) => {
      await (await session(gateway.url())).ask('tools/list');
      return rssKiB(gateway);
    });
    const one = await bed([5], async (gateway) => {
      await (await session(gateway.url())).ask('tools/list');
      return rssKiB(gateway);
    });
    return [(full - one) / (UPSTREAMS - 1), UPSTREAMS];
  },
};

console.log('tools   list ms   per tool µs   first calls µs   later calls µs   memory per tool KiB');
for (const count of [TOOLS, 2 * TOOLS, 4 * TOOLS]) {
  const { list, call, again, kib } = await withTools(count);
  console.log(`${String(count).padEnd(8)}${list.toFixed(2).padStart(7)}${((list * 1000) / count).toFixed(2).padStart(14)}` +
    `${(call * 1000).toFixed(0).padStart(17)}${(again * 1000).toFixed(0).padStart(17)}${kib.toFixed(2).padStart(22)}`);
}
console.log('\nmemory           KiB each   of');
for (const [what, measure] of Object.entries(memory)) {
  const [kib, of] = await measure();
  console.log(`${what.padEnd(17)}${kib.toFixed(1).padStart(8)}${String(of).padStart(5)}`);
}
process.exit(0);
