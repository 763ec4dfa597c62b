// HTTP+SSE, the transport of 2024-11-05: one event stream, and POSTs. The official clients of both eras in front of the
// official server of it, and those that speak it themselves in front of any.
import assert from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import * as schemas from '@modelcontextprotocol/sdk/types.js';
import { done, test } from '../../lib/tap.mjs';
import { collect, ended, eventually, modules, node, scratch, serve } from '../../lib/gateway.mjs';
import { clients, connectHttp, outcomeOf, startProxy, textOf } from './lib.mjs';

async function freePort() {
  const server = http.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startEverything(port, { defer }) {
  const script = path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js');
  const child = spawn(node, [script, 'sse'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PORT: String(port) },
  });
  defer(() => child.kill('SIGKILL'));
  await collect(child.stderr).until(/running on port/i);
  return child;
}

const settingsOf = (port, more = {}) => ({ mcpServers: { everything: { url: `http://127.0.0.1:${port}/sse`, ...more } } });
const echo = { name: 'echo', arguments: { message: 'hello' } };

for (const kind of Object.keys(clients)) {
  await test(`${kind}: lists, calls and progress`, async (context) => {
    const port = await freePort();
    await startEverything(port, context);
    const gateway = await serve(settingsOf(port), context);
    const client = await connectHttp(kind, gateway.url('everything'), context);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'echo'));
    assert.ok((await client.listResources()).resources.length > 0);
    assert.ok((await client.listPrompts()).prompts.length > 0);
    const result = await client.callTool(echo);
    assert.match(textOf(result), /hello/);
    assert.equal(outcomeOf(result).source, 'live');
    const seen = [];
    const call = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } };
    const options = { onprogress: ({ progress }) => seen.push(progress) };
    const slow = kind === 'sdk 1' ? await client.callTool(call, undefined, options) : await client.callTool(call, options);
    assert.match(textOf(slow), /completed/i);
    assert.deepEqual(seen, [1, 2, 3, 4]);
  });

  await test(`${kind}: many calls at once on one stream`, async (context) => {
    const port = await freePort();
    await startEverything(port, context);
    const gateway = await serve(settingsOf(port, { type: 'sse' }), context);
    const client = await connectHttp(kind, gateway.url('everything'), context);
    const calls = Array.from({ length: 50 }, (none, i) => client.callTool({ name: 'echo', arguments: { message: `m${i}.` } }));
    (await Promise.all(calls)).forEach((result, i) => assert.match(textOf(result), new RegExp(`m${i}\\.`)));
  });

  await test(`${kind}: a server that restarts between calls`, async (context) => {
    const port = await freePort();
    const child = await startEverything(port, context);
    const gateway = await serve(settingsOf(port), context);
    const client = await connectHttp(kind, gateway.url('everything'), context);
    assert.match(textOf(await client.callTool(echo)), /hello/);
    child.kill('SIGKILL');
    await ended(child);
    await startEverything(port, context);
    assert.match(textOf(await client.callTool(echo)), /hello/);
  });
}

await test('a server that is killed in the middle of a call', async (context) => {
  const port = await freePort();
  const child = await startEverything(port, context);
  const config = { policies: { default: { retry: { attempts: 1 } } }, ...settingsOf(port) };
  const gateway = await serve(config, context);
  const client = await connectHttp('sdk 2', gateway.url('everything'), context);
  const seen = [];
  const call = { name: 'trigger-long-running-operation', arguments: { duration: 20, steps: 100 } };
  const pending = client.callTool(call, { onprogress: (progress) => seen.push(progress) });
  await eventually(() => seen.length > 0, 'progress');
  child.kill('SIGKILL');
  const result = await pending;
  assert.ok(result.isError);
  assert.equal(outcomeOf(result).executed, 'maybe');
  await startEverything(port, context);
  assert.match(textOf(await client.callTool(echo)), /hello/);
});

await test('a question of the server reaches the client whose call it is about', async (context) => {
  const port = await freePort();
  await startEverything(port, context);
  const gateway = await serve(settingsOf(port, { instance: 'session' }), context);
  const client = clients['sdk 1'].client({ capabilities: { sampling: {} } });
  context.defer(() => client.close());
  const answer = { role: 'assistant', model: 'none', content: { type: 'text', text: 'from the client' } };
  client.setRequestHandler(schemas.CreateMessageRequestSchema, async () => answer);
  await client.connect(clients['sdk 1'].http(gateway.url('everything')));
  const tool = (await client.listTools()).tools.find(({ name }) => /sampling/.test(name));
  const result = await client.callTool({ name: tool.name, arguments: { prompt: 'say something', maxTokens: 10 } });
  assert.match(textOf(result), /from the client/);
});
// A proxy that ends TLS, as such servers have before them.
async function startTls(port, { defer }) {
  const dir = scratch(defer);
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(dir, name));
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert];
  assert.equal(spawnSync('openssl', [...request, ...names]).status, 0, 'openssl');
  const sockets = new Set();
  const server = tls.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (front) => {
    const back = net.connect(port, '127.0.0.1');
    for (const socket of [front, back]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => [front, back].forEach((each) => each.destroy()));
    }
    front.pipe(back).pipe(front);
  });
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `https://localhost:${server.address().port}/sse`, cert };
}

await test('over TLS, with large messages both ways', async (context) => {
  const port = await freePort();
  await startEverything(port, context);
  const { url, cert } = await startTls(port, context);
  const gateway = await serve({ mcpServers: { everything: { url, tls: { ca: cert } } } }, context);
  const client = await connectHttp('sdk 2', gateway.url('everything'), context);
  const message = 'x'.repeat(2 << 20);
  const result = await client.callTool({ name: 'echo', arguments: { message } });
  assert.ok(textOf(result).includes(message));
});

// The same clients over that transport, at the gateway's own /sse: `kind` connects to `url`.
const overSse = Object.keys(clients).filter((kind) => clients[kind].sse);
const everythingChild = { command: node, args: [path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'] };
const served = (more = {}) => ({ sse: { enabled: true }, mcpServers: { everything: { ...everythingChild, ...more } } });
const sseUrl = (gateway, end = '/sse/everything') => new URL(`http://${gateway.address}${end}`);

async function connectSse(kind, url, { defer }, options = {}, prepare = () => {}) {
  const client = clients[kind].client({ capabilities: {}, ...options });
  defer(() => client.close());
  prepare(client);
  client.onerror = () => {};
  await client.connect(clients[kind].sse(url));
  return client;
}

const callWith = (kind, client, call, options) =>
  kind === 'sdk 1' ? client.callTool(call, undefined, options) : client.callTool(call, options);
const long = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } };

for (const kind of overSse) {
  await test(`${kind} over SSE: lists, calls and progress`, async (context) => {
    const gateway = await serve(served(), context);
    const client = await connectSse(kind, sseUrl(gateway), context);
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'echo'));
    assert.ok((await client.listResources()).resources.length > 0);
    assert.ok((await client.listPrompts()).prompts.length > 0);
    const result = await client.callTool(echo);
    assert.match(textOf(result), /hello/);
    assert.equal(outcomeOf(result).source, 'live');
    const seen = [];
    const slow = await callWith(kind, client, long, { onprogress: ({ progress }) => seen.push(progress) });
    assert.match(textOf(slow), /completed/i);
    assert.deepEqual(seen.slice(0, 3), [1, 2, 3]); // the SDK forgets the last one where it comes together with the answer
  });

  await test(`${kind} over SSE: many calls at once, and all servers together`, async (context) => {
    const gateway = await serve(served(), context);
    const client = await connectSse(kind, sseUrl(gateway, '/sse'), context);
    const calls = Array.from({ length: 50 }, (none, i) => client.callTool({ name: 'everything__echo', arguments: { message: `m${i}.` } }));
    (await Promise.all(calls)).forEach((result, i) => assert.match(textOf(result), new RegExp(`m${i}\\.`)));
  });

  await test(`${kind} over SSE: a server of that transport behind it, and large messages both ways`, async (context) => {
    const port = await freePort();
    await startEverything(port, context);
    const gateway = await serve({ sse: { enabled: true }, ...settingsOf(port) }, context);
    const client = await connectSse(kind, sseUrl(gateway), context);
    const message = 'x'.repeat(2 << 20);
    assert.ok(textOf(await client.callTool({ name: 'echo', arguments: { message } })).includes(message));
  });

  await test(`${kind} over SSE: a question of the server reaches it`, async (context) => {
    const gateway = await serve(served({ instance: 'session' }), context);
    const answer = { role: 'assistant', model: 'none', content: { type: 'text', text: 'from the client' } };
    const client = await connectSse(kind, sseUrl(gateway), context, { capabilities: { sampling: {} } }, (each) =>
      each.setRequestHandler(kind === 'sdk 1' ? schemas.CreateMessageRequestSchema : 'sampling/createMessage', async () => answer));
    const tool = (await client.listTools()).tools.find(({ name }) => /sampling/.test(name));
    const result = await client.callTool({ name: tool.name, arguments: { prompt: 'say something', maxTokens: 10 } });
    assert.match(textOf(result), /from the client/);
  });

  await test(`${kind} over SSE: a call that is given up is cancelled, and the next one is answered`, async (context) => {
    const gateway = await serve(served(), context);
    const client = await connectSse(kind, sseUrl(gateway), context);
    const abort = new AbortController();
    const call = { ...long, arguments: { duration: 20, steps: 200 } };
    const pending = callWith(kind, client, call, { signal: abort.signal, onprogress: () => abort.abort() });
    await assert.rejects(pending);
    assert.match(textOf(await client.callTool(echo)), /hello/);
    await eventually(() => /"source":"cancelled"|cancel/.test(gateway.log.text), 'the end of the call in the log');
  });

  await test(`${kind} over SSE: through a proxy that takes a prefix off, and cuts`, async (context) => {
    const gateway = await serve(served(), context);
    const proxy = await startProxy(gateway.address, context, '/team/tools');
    const client = await connectSse(kind, new URL(`${proxy.url}/team/tools/sse/everything`), context);
    assert.match(textOf(await client.callTool(echo)), /hello/);
    proxy.cut();
    await eventually(() => proxy.streams >= 2, 'the second stream', 20000);
    await eventually(() => client.callTool(echo).then((result) => /hello/.test(textOf(result)), () => false), 'a call on it');
  });
}
done();
