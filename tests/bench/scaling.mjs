// How costs grow: what lists, calls, streams, subscriptions, held calls, tasks and upstreams take with n, 2n and 4n of them, and
// the memory of each. Times are the gateway's own processor time, so that neither client nor server is counted. What takes
// more than GROWTH_MAX times as much each at 4n as at n is marked, and ends the program with status 1.
//   node scaling.mjs [BUILD]
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

process.env.HOLDFAST ??= path.resolve(process.argv[2] ?? 'build', 'holdfast');
const { chaos, serve } = await import('../lib/gateway.mjs');
const [TOOLS, STREAMS, HELD, TASKS, UPSTREAMS] = [1250, 2500, 250, 250, 50]; // n; the figures are 4n
const [LISTS, CALLS, AT_ONCE, GROWTH_MAX] = [20, 500, 32, 2];
const MODERN = '2026-07-28';
const schema = { type: 'object', properties: { path: { type: 'string', description: 'what to read' }, limit: { type: 'integer' } } };

const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition) {
  while (!condition()) await delay(2);
}

const streamHead = { 'Content-Type': 'text/event-stream' };

// A server with `count` tools. A call of `ask` is answered when the question that it asks is, one of `hold` by what is then
// in `held`; `push` sends on the streams that clients opened.
function server(count) {
  const tools = Array.from({ length: count }, (_, i) => ({ name: `tool${i}`, description: 'Reads a file, or a part of it.', inputSchema: schema }));
  const list = JSON.stringify([...tools, ...['ask', 'hold'].map((name) => ({ name, inputSchema: { type: 'object' } }))]);
  const capabilities = '{"tools":{},"resources":{"subscribe":true}}';
  const results = {
    initialize: () => `{"protocolVersion":"2025-11-25","capabilities":${capabilities},"serverInfo":{"name":"s","version":"1"}}`,
    'tools/list': () => `{"tools":${list}}`,
    'resources/list': () => '{"resources":[{"uri":"file:///a","name":"a"}]}',
    'resources/templates/list': () => '{"resourceTemplates":[]}',
    'tools/call': () => '{"content":[{"type":"text","text":"done"}]}',
  };
  const streams = new Set();
  const questions = new Map();
  const held = [];
  let asked = 0;
  function ask(message, response) {
    const id = `q${++asked}`;
    response.writeHead(200, streamHead);
    response.write(`data: {"jsonrpc":"2.0","id":"${id}","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}}\n\n`);
    questions.set(id, () => response.end(`data: {"jsonrpc":"2.0","id":${message.id},"result":{"content":[]}}\n\n`));
  }
  function take(message, response) {
    if (message.id === undefined || message.method === undefined) {
      response.writeHead(202).end();
      questions.get(message.id)?.();
    } else if (message.params?.name === 'ask') {
      ask(message, response);
    } else {
      const answer = () => response.writeHead(200, { 'Content-Type': 'application/json', 'Mcp-Session-Id': 's' })
        .end(`{"jsonrpc":"2.0","id":${message.id},"result":${results[message.method]?.() ?? '{}'}}`);
      if (message.params?.name === 'hold') held.push(answer);
      else answer();
    }
  }
  const listener = http.createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, streamHead).flushHeaders();
      streams.add(response);
      response.on('close', () => streams.delete(response));
      return;
    }
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => (request.method === 'POST' ? take(JSON.parse(Buffer.concat(parts)), response) : response.writeHead(200).end()));
  });
  const push = (message) => streams.forEach((stream) => stream.write(`data: ${message}\n\n`));
  const close = () => listener.closeAllConnections() ?? listener.close();
  return new Promise((resolve) => listener.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    resolve({ url: `http://127.0.0.1:${listener.address().port}/mcp`, streams, held, push, close });
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

let modernId = 0;

async function callModern(url, name, more = {}) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'b', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  };
  const message = { jsonrpc: '2.0', id: ++modernId, method: 'tools/call', params: { name, arguments: { n: modernId }, ...more, _meta } };
  const headers = { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': name };
  const { text } = await exchange(url, 'POST', headers, JSON.stringify(message));
  const data = text.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5));
  const answer = JSON.parse(data.at(-1) ?? text);
  if (!answer.result) throw new Error(`${name} was answered ${text.slice(0, 500)}`);
  return { ...answer.result, arguments: message.params.arguments };
}

const cpuOf = (pid) => Number(fs.readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
const rssOf = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
const cpuMs = ({ child }) => cpuOf(child.pid);
const rssKiB = ({ child }) => rssOf(child.pid);

// The processes of the gateway's own: itself and the helper that starts children.
function ownRssKiB({ child }) {
  const helpers = fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [child.pid, ...helpers].reduce((sum, pid) => sum + rssOf(pid), 0);
}

async function during(gateway, times, action) {
  const before = cpuMs(gateway);
  for (let i = 0; i < times; i++) await action(i);
  return (cpuMs(gateway) - before) / times;
}

// The same with many at once; returns milliseconds each, and what came of each.
async function together(gateway, times, action) {
  const before = cpuMs(gateway);
  const results = new Array(times);
  let next = 0;
  const work = async () => {
    while (next < times) {
      const i = next++;
      results[i] = await action(i);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return [(cpuMs(gateway) - before) / times, results];
}

async function bed(mcpServers, body, more = {}) {
  const cleanups = [];
  const limits = { sessionsPerPrincipal: 16384, callsPerClient: 4096, tasksPerClient: 4096, listWait: '20s', sseKeepalive: '10m' };
  const policies = { default: { concurrency: { calls: 2000 }, timeout: { deadline: '5m', idle: '5m' } } };
  const gateway = await serve({ mcpServers, limits, policies, store: { enabled: false }, log: { format: 'json' }, ...more }, { defer: (action) => cleanups.push(action) });
  try {
    return await body(gateway);
  } finally {
    agent.destroy();
    for (const action of cleanups.reverse()) await action();
  }
}

async function withServers(counts, body, settings = {}) {
  const servers = [];
  for (const count of counts) servers.push(await server(count));
  const mcpServers = Object.fromEntries(servers.map(({ url }, i) => [`s${i}`, { url, era: 'legacy', connections: 1024, ...settings }]));
  try {
    return await bed(mcpServers, (gateway) => body(gateway, servers));
  } finally {
    for (const one of servers) one.close();
  }
}

// What the gateway takes without servers, so that the start of servers can be told from its own.
let bare;

async function weighBare() {
  bare ??= await bed({}, async (gateway) => {
    await session(gateway.url());
    return { rss: rssKiB(gateway), own: ownRssKiB(gateway), cpu: cpuMs(gateway) };
  });
  return bare;
}

// Each measures at `count`, and returns what it took by name: `each` in microseconds (or KiB) of one, `all` of one deed
// whatever their number.
const measures = {
  tools: [TOOLS, (count) => withServers([count], async (gateway) => {
    const empty = rssKiB(gateway);
    const { ask } = await session(gateway.url());
    await ask('tools/list');
    const kib = (rssKiB(gateway) - empty) / count;
    const list = await during(gateway, LISTS, () => ask('tools/list'));
    const call = await during(gateway, CALLS, (i) => ask('tools/call', `{"name":"s0__tool${(i * 7919) % count}","arguments":{"path":"a"}}`));
    const again = await during(gateway, CALLS, (i) => ask('tools/call', `{"name":"s0__tool${i % 10}","arguments":{"path":"b"}}`));
    return { 'KiB each': kib, 'list, µs each': (list * 1000) / count, 'first calls, µs': call * 1000, 'later calls, µs': again * 1000, 'list, ms': [list] };
  })],
  'idle streams': [STREAMS, (count) => withServers([1], async (gateway, [{ streams, push }]) => {
    const first = await session(gateway.url());
    await first.ask('resources/list');
    const before = rssKiB(gateway);
    let heard = 0;
    const [opening, sessions] = await together(gateway, count, async () => {
      const one = await session(gateway.url());
      const stream = await exchange(gateway.url(), 'GET', one.headers, undefined, true);
      stream.on('data', () => heard++);
      return one;
    });
    const kib = (rssKiB(gateway) - before) / count;
    const call = await during(gateway, CALLS, (i) => first.ask('tools/call', `{"name":"s0__tool0","arguments":{"path":"a${i}"}}`));
    const [atOnce] = await together(gateway, CALLS, (i) => first.ask('tools/call', `{"name":"s0__tool0","arguments":{"path":"b${i}"}}`));
    const [subscribing] = await together(gateway, count, (i) => sessions[i].ask('resources/subscribe', '{"uri":"file:///a"}'));
    await until(() => streams.size > 0);
    heard = 0;
    const telling = await during(gateway, 1, async () => {
      push('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}');
      await until(() => heard >= count);
    });
    const [leaving] = await together(gateway, count, (i) => sessions[i].ask('resources/unsubscribe', '{"uri":"file:///a"}'));
    return {
      'KiB each': kib, 'open, µs each': opening * 1000, 'calls one by one, µs': call * 1000, 'calls at once, µs': atOnce * 1000, 'subscribe, µs each': subscribing * 1000,
      'tell all, µs each': (telling * 1000) / count, 'unsubscribe, µs each': leaving * 1000,
    };
  })],
  'held calls': [HELD, (count) => withServers([1], async (gateway) => {
    const url = gateway.url();
    await callModern(url, 's0__tool0');
    const before = rssKiB(gateway);
    const [holding, held] = await together(gateway, count, () => callModern(url, 's0__ask'));
    const kib = (rssKiB(gateway) - before) / count;
    const call = await during(gateway, CALLS, () => callModern(url, 's0__tool0'));
    const [resuming, results] = await together(gateway, count, (i) => {
      const answers = Object.keys(held[i].inputRequests).map((key) => [key, { action: 'accept', content: {} }]);
      return callModern(url, 's0__ask', { arguments: held[i].arguments, requestState: held[i].requestState, inputResponses: Object.fromEntries(answers) });
    });
    if (results.some(({ isError, resultType }) => isError || resultType === 'input_required')) throw new Error('a held call did not end well');
    return { 'KiB each': kib, 'hold, µs each': holding * 1000, 'calls meanwhile, µs': call * 1000, 'answer, µs each': resuming * 1000 };
  }, { instance: 'session' })],
  tasks: [TASKS, (count) => withServers([1], async (gateway, [{ held }]) => {
    const { ask } = await session(gateway.url());
    await ask('tools/list');
    const before = rssKiB(gateway);
    const [beginning, begun] = await together(gateway, count, (i) => ask('tools/call', `{"name":"s0__hold","arguments":{"i":${i}},"task":{"ttl":600000}}`));
    await until(() => held.length === count);
    const kib = (rssKiB(gateway) - before) / count;
    const ids = begun.map(({ text }) => /"taskId":"([^"]+)"/.exec(text)[1]);
    const [polling] = await together(gateway, count, (i) => ask('tasks/get', `{"taskId":"${ids[i]}"}`));
    const call = await during(gateway, CALLS, (i) => ask('tools/call', `{"name":"s0__tool0","arguments":{"path":"a${i}"}}`));
    const cpu = cpuMs(gateway);
    held.forEach((answer) => answer());
    await together(gateway, count, (i) => ask('tasks/result', `{"taskId":"${ids[i]}"}`));
    const ending = (cpuMs(gateway) - cpu) / count;
    return { 'KiB each': kib, 'begin, µs each': beginning * 1000, 'poll, µs each': polling * 1000, 'calls meanwhile, µs': call * 1000, 'end, µs each': ending * 1000 };
  })],
  upstreams: [UPSTREAMS, async (count) => withServers(Array.from({ length: count }, () => 5), async (gateway, servers) => {
    const { rss, cpu } = await weighBare();
    const { ask } = await session(gateway.url());
    await ask('tools/list');
    await until(() => servers.every(({ streams }) => streams.size));
    const start = cpuMs(gateway) - cpu;
    const kib = (rssKiB(gateway) - rss) / count;
    const list = await during(gateway, LISTS, () => ask('tools/list'));
    const call = await during(gateway, CALLS, (i) => ask('tools/call', `{"name":"s${i % count}__tool0","arguments":{"path":"a"}}`));
    return { 'KiB each': kib, 'start, µs each': (start * 1000) / count, 'list, µs each': (list * 1000) / count, 'calls, µs': call * 1000 };
  })],
  children: [UPSTREAMS, (count) => {
    const mcpServers = Object.fromEntries(Array.from({ length: count }, (_, i) => [`s${i}`, { command: chaos, args: ['--stdio'] }]));
    return bed(mcpServers, async (gateway) => {
      const { own, cpu } = await weighBare();
      const { ask } = await session(gateway.url());
      await ask('tools/list');
      const start = cpuMs(gateway) - cpu;
      const kib = (ownRssKiB(gateway) - own) / count;
      const call = await during(gateway, CALLS, (i) => ask('tools/call', `{"name":"s${i % count}__echo","arguments":{"text":"a"}}`));
      return { "KiB each of the gateway's own": kib, 'start, µs each': (start * 1000) / count, 'calls, µs': call * 1000 };
    });
  }],
};

const cell = (value) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0).padStart(10);
let bad = 0;

async function table(what, [n, measure]) {
  const rows = [await measure(n), await measure(2 * n), await measure(4 * n)];
  console.log(`\n${what.padEnd(32)}${[n, 2 * n, 4 * n].map((count) => String(count).padStart(10)).join('')}    4n over n`);
  for (const name of Object.keys(rows[0])) {
    const values = rows.map((row) => [row[name]].flat()[0]);
    const grows = !Array.isArray(rows[0][name]) && values[2] > values[0] * GROWTH_MAX && values[2] - values[0] > 1;
    bad += grows;
    const ratio = Array.isArray(rows[0][name]) ? '' : cell(values[2] / values[0]);
    console.log(`  ${name.padEnd(30)}${values.map(cell).join('')}   ${ratio}${grows ? '  GROWS' : ''}`);
  }
}

const wanted = process.argv[3];
for (const [what, measure] of Object.entries(measures)) if (!wanted || what.startsWith(wanted)) await table(what, measure);
console.log(bad ? `\n${bad} of these grow faster than what they are of` : '\nnothing grows faster than what it is of');
process.exit(bad ? 1 : 0);
