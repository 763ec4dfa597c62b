// Streams that break at any byte. A client that counts what it has read resets its connection, comes back with the last
// event id that it has seen whole, and must then have had every message once: none lost, none twice, in order.
import assert from 'node:assert';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { done, test } from '../../lib/tap.mjs';
import { eventually, serve } from '../../lib/gateway.mjs';
import { clients, connectHttp, startProxy, textOf } from './lib.mjs';

// A legacy server with one tool: two steps of progress, then the result when `release(n)` allows it, n being its argument.
async function startServer({ defer }) {
  const played = { calls: new Map(), gone: new Set(), stream: undefined };
  const released = new Set();
  const waiting = new Map();
  const say = (response, message) => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  const call = (response, { id, params }) => {
    const { n } = params.arguments;
    const { progressToken } = params._meta;
    played.calls.set(n, (played.calls.get(n) ?? 0) + 1);
    response.on('close', () => response.writableFinished || played.gone.add(n));
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const progress of [1, 2]) say(response, { method: 'notifications/progress', params: { progressToken, progress } });
    const finish = () => {
      say(response, { id, result: { content: [{ type: 'text', text: `done ${n}` }] } });
      response.end();
    };
    if (released.has(n)) finish();
    else waiting.set(n, finish);
  };
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {}, logging: {} }, serverInfo: { name: 's', version: '1' } },
    'tools/list': { tools: [{ name: 'count', inputSchema: { type: 'object' } }] },
    'logging/setLevel': {},
    ping: {},
  };
  const server = http.createServer((request, response) => {
    let text = '';
    request.on('data', (part) => (text += part));
    request.on('end', () => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
        played.stream = response;
        return undefined;
      }
      const message = text ? JSON.parse(text) : {};
      if (message.method === 'tools/call') return call(response, message);
      const result = results[message.method];
      if (message.id === undefined) return response.writeHead(202).end();
      const error = { code: -32601, message: 'no such method' };
      response.writeHead(result ? 200 : 400, { 'Content-Type': 'application/json', 'Mcp-Session-Id': 'one' });
      return response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error }) }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  defer(() => {
    server.closeAllConnections();
    server.close();
  });
  played.release = (n) => {
    released.add(n);
    waiting.get(n)?.();
    waiting.delete(n);
  };
  played.log = (data) => say(played.stream, { method: 'notifications/message', params: { level: 'error', data } });
  played.url = `http://127.0.0.1:${server.address().port}/mcp`;
  return played;
}

// What a client makes of the first bytes of a response: the events that are whole, and the last id.
function understand(bytes) {
  const text = bytes.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return { data: [] };
  const status = Number(text.slice(9, 12));
  let rest = text.slice(end + 4);
  let body = '';
  for (let match; (match = /^([0-9a-f]+)\r\n/i.exec(rest)); ) {
    const length = Number.parseInt(match[1], 16);
    body += rest.slice(match[0].length, match[0].length + length);
    rest = rest.slice(match[0].length + length + 2);
  }
  const seen = { status, body, data: [], ended: text.endsWith('\r\n0\r\n\r\n') };
  for (const event of body.split('\n\n').slice(0, -1)) {
    const id = /^id: (.*)$/m.exec(event);
    const data = /^data: (.+)$/m.exec(event);
    if (id) seen.id = id[1];
    if (data) seen.data.push(JSON.parse(data[1]));
  }
  return seen;
}

// Sends a request on a connection of its own and resets it after `most` bytes of the response, or once `until` is among
// them; or reads all of it.
function exchange(address, verb, headers, body = '', most = Infinity, until = undefined) {
  const [host, port] = address.split(':');
  const lines = { Host: address, Connection: 'close', Accept: 'application/json, text/event-stream', 'Content-Length': body.length, ...headers };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port: Number(port) });
    let bytes = Buffer.alloc(0);
    const stop = () => {
      socket.resetAndDestroy();
      resolve(bytes.subarray(0, most));
    };
    socket.on('connect', () => {
      socket.write(`${verb} /mcp HTTP/1.1\r\n${head.join('')}\r\n${body}`, () => most === 0 && stop());
    });
    socket.on('data', (part) => {
      bytes = Buffer.concat([bytes, part]);
      if (bytes.length >= most || (until && bytes.includes(until))) stop();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(bytes));
  });
}

async function openSession(address) {
  const headers = { 'Content-Type': 'application/json' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const initialize = JSON.stringify({ jsonrpc: '2.0', id: 'i', method: 'initialize', params });
  const bytes = await exchange(address, 'POST', headers, initialize);
  const id = /^mcp-session-id: (\w+)/im.exec(bytes.toString('latin1'))[1];
  const session = { 'Mcp-Session-Id': id, 'MCP-Protocol-Version': '2025-11-25' };
  await exchange(address, 'POST', { ...headers, ...session }, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  return session;
}

const callOf = (n, meta = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 's__count', arguments: { n }, _meta: { progressToken: `p${n}`, ...meta } } });

const short = ({ id, params, result, error }) =>
  params ? `${params.progressToken} ${params.progress}` : `${id} ${result?.content[0].text ?? JSON.stringify(error)}`;
const whole = (n) => [`p${n} 1`, `p${n} 2`, `${n} done ${n}`];
const legacy = (session) => ({ 'Content-Type': 'application/json', ...session });
const resumed = (session, id) => ({ Accept: 'text/event-stream', 'Last-Event-ID': id, ...session });
const config = (server, safety = 'unsafe') => ({ mcpServers: { s: { url: server.url, era: 'legacy' } }, tools: { s__count: { safety } } });

// Up to here the response comes while the result is held back.
const heldFrom = (bytes) => bytes.indexOf('\n\n', bytes.indexOf('"progress":2')) + '\n\n\r\n'.length;

await test('the answer to a call, reset at each byte, is had once', async (context) => {
  const server = await startServer(context);
  const { address } = await serve(config(server), context);
  const session = await openSession(address);
  server.release(0);
  const unbroken = await exchange(address, 'POST', legacy(session), callOf(0));
  assert.deepEqual(understand(unbroken).data.map(short), whole(0));
  let back = 0;
  for (let n = 1; n <= unbroken.length; n++) {
    if (n > heldFrom(unbroken)) server.release(n); // else the result is there only when its client is not
    const first = understand(await exchange(address, 'POST', legacy(session), callOf(n), n));
    server.release(n);
    if (!first.id) continue; // nothing to come back with
    const parts = [first];
    while (!parts.at(-1).ended && parts.length < 4) {
      const { id } = parts.findLast((part) => part.id);
      const most = parts.length === 1 && n % 3 === 0 ? (n * 7) % unbroken.length : Infinity;
      parts.push(understand(await exchange(address, 'GET', resumed(session, id), '', most)));
    }
    const data = parts.flatMap((part) => part.data).map(short);
    assert.deepEqual(data, whole(n), `broken after ${n} bytes of ${unbroken.length}`);
    assert.equal(server.calls.get(n), 1);
    back += 1;
  }
  assert.ok(back > unbroken.length / 2, `${back} of ${unbroken.length}`);
}, { timeoutMs: 60000 });

await test('the stream of a session, reset at each byte, loses and repeats nothing', async (context) => {
  const server = await startServer(context);
  const { address } = await serve(config(server), context);
  const session = await openSession(address);
  server.release(0);
  await exchange(address, 'POST', legacy(session), callOf(0));
  await eventually(() => server.stream, 'the stream to the server');
  const data = [];
  let last;
  let said = 0;
  const read = async (most, until) => {
    const headers = last ? resumed(session, last) : { Accept: 'text/event-stream', ...session };
    const seen = understand(await exchange(address, 'GET', headers, '', most, until));
    last = seen.id ?? last;
    data.push(...seen.data.map(({ params }) => params.data));
  };
  await read(Infinity, 'data: \n\n'); // by the id of this one it can come back
  for (let most = 0; most < 800; most++) {
    while (said - data.length < 5) server.log(said++); // always more than is read
    await read(most);
  }
  server.log('the end');
  await read(Infinity, 'the end"}}\n\n');
  assert.deepEqual(data, [...Array.from({ length: said }, (none, i) => i), 'the end']);
}, { timeoutMs: 60000 });

await test('a modern stream, reset at each byte, is a call that is cancelled, once, and has no event ids', async (context) => {
  const server = await startServer(context);
  const { address } = await serve(config(server, 'read_only'), context);
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  const modern = { 'Content-Type': 'application/json', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 's__count' };
  server.release(0);
  const unbroken = await exchange(address, 'POST', modern, callOf(0, meta));
  assert.deepEqual(understand(unbroken).data.map(short), whole(0));
  assert.ok(!/^id:|^retry:/m.test(understand(unbroken).body));
  for (let n = 1; n <= heldFrom(unbroken); n++) {
    const seen = understand(await exchange(address, 'POST', modern, callOf(n, meta), n));
    assert.deepEqual(seen.data.map(short), whole(n).slice(0, seen.data.length));
    await eventually(() => server.gone.has(n), `the end of call ${n} at the server`);
    assert.equal(server.calls.get(n), 1);
  }
}, { timeoutMs: 60000 });

// What a proxy cuts that finds it silent, keep-alives save: limits.sseKeepalive is less than the proxy's patience.
for (const [kind, how] of [['sdk 1', 'http'], ['sdk 2 pinned', 'http'], ['sdk 1', 'sse'], ['sdk 2', 'sse']]) {
  await test(`${kind} over ${how}: a call longer than a proxy's patience, and a stream that is idle for as long`, async (context) => {
    const server = await startServer(context);
    const gateway = await serve({ ...config(server), sse: { enabled: true }, limits: { sseKeepalive: '400ms' } }, context);
    const proxy = await startProxy(gateway.address, context, '', 1000);
    const client = clients[kind].client({ capabilities: {} });
    context.defer(() => client.close());
    await client.connect(clients[kind][how](new URL(`${proxy.url}/${how === 'http' ? 'mcp' : 'sse'}`)));
    const call = client.callTool({ name: 's__count', arguments: { n: 1 } });
    setTimeout(() => server.release(1), 2500);
    assert.equal(textOf(await call), 'done 1');
    assert.equal(proxy.cuts, 0);
  });
}

await test('a flood of clients that come back: streams do not pile up, and the last one is told', async (context) => {
  const server = await startServer(context);
  const { address, child } = await serve(config(server), context);
  const session = await openSession(address);
  server.release(0);
  await exchange(address, 'POST', legacy(session), callOf(0));
  await eventually(() => server.stream, 'the stream to the server');
  const descriptors = () => fs.readdirSync(`/proc/${child.pid}/fd`).length;
  const first = understand(await exchange(address, 'GET', { Accept: 'text/event-stream', ...session }, '', Infinity, 'data: \n\n'));
  const before = descriptors();
  for (let i = 0; i < 100; i++) {
    const headers = i % 2 ? resumed(session, first.id) : { Accept: 'text/event-stream', ...session };
    await Promise.all(Array.from({ length: 20 }, () => exchange(address, 'GET', headers, '', 100)));
  }
  await eventually(() => descriptors() <= before, 'the end of all streams');
  server.log('told');
  const last = understand(await exchange(address, 'GET', resumed(session, first.id), '', Infinity, 'told"}}\n\n'));
  assert.deepEqual(last.data.map(({ params }) => params.data), ['told']);
}, { timeoutMs: 60000 });

// The official clients come back by themselves.
for (const kind of ['sdk 1', 'sdk 2']) {
  await test(`${kind}: a proxy cuts all streams in the middle of calls, and each is answered once`, async (context) => {
    const server = await startServer(context);
    const gateway = await serve(config(server), context);
    const proxy = await startProxy(gateway.address, context);
    const client = await connectHttp(kind, new URL(`${proxy.url}/mcp`), context);
    const seen = new Map();
    const calls = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => {
      const options = { onprogress: ({ progress }) => seen.set(n, [...(seen.get(n) ?? []), progress]) };
      const call = { name: 's__count', arguments: { n } };
      return kind === 'sdk 1' ? client.callTool(call, undefined, options) : client.callTool(call, options);
    });
    await eventually(() => [...seen.values()].filter((each) => each.length === 2).length === calls.length, 'progress of all');
    proxy.cut();
    await eventually(() => proxy.open.size === 0, 'the cut');
    for (let n = 1; n <= calls.length; n++) server.release(n);
    (await Promise.all(calls)).forEach((result, i) => assert.equal(textOf(result), `done ${i + 1}`));
    for (let n = 1; n <= calls.length; n++) {
      assert.equal(server.calls.get(n), 1);
      assert.deepEqual(seen.get(n), [1, 2]);
    }
  });
}
done();
