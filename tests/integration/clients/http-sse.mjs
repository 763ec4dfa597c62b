// The official clients of both eras in front of the official server of 2024-11-05: one event stream, and POSTs.
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
import { clients, connectHttp, outcomeOf, textOf } from './lib.mjs';

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
done();
