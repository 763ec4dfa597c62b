// What ends, what goes on and what comes back: questions to a client, cancellation, sessions, resumed streams.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as schemas from '@modelcontextprotocol/sdk/types.js';
import { done, test } from '../../lib/tap.mjs';
import { collect, ended, node, scratch, serve } from '../../lib/gateway.mjs';
import { clients, connectHttp, connectStdio, servers, textOf } from './lib.mjs';

const fixture = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../conformance/fixture.mjs');
const capabilities = { sampling: {}, elicitation: {} };

async function startFixture(context) {
  const child = spawn(node, [fixture], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.defer(async () => {
    child.kill();
    await ended(child);
  });
  const [, port] = await collect(child.stdout).until(/^(\d+)\n/);
  return { url: `http://127.0.0.1:${port}/mcp`, era: 'legacy', instance: 'session' };
}

function answerQuestions(kind, client) {
  const sampled = { role: 'assistant', model: 'none', content: { type: 'text', text: 'from the client' } };
  const elicited = { action: 'accept', content: { username: 'ann', email: 'a@example.org' } };
  const on = (method, schema, answer) => client.setRequestHandler(kind === 'sdk 1' ? schema : method, async () => answer);
  on('sampling/createMessage', schemas.CreateMessageRequestSchema, sampled);
  on('elicitation/create', schemas.ElicitRequestSchema, elicited);
}

async function checkQuestions(client, prefix) {
  const sampled = await client.callTool({ name: `${prefix}test_sampling`, arguments: { prompt: 'x' } });
  assert.match(textOf(sampled), /LLM response: from the client/);
  const elicited = await client.callTool({ name: `${prefix}test_elicitation`, arguments: { message: 'who?' } });
  assert.match(textOf(elicited), /action=accept.*ann/);
}

for (const kind of ['sdk 1', 'sdk 2']) {
  await test(`${kind}: questions of a server over HTTP reach the client, from its first call on`, async (context) => {
    const gateway = await serve({ mcpServers: { fix: await startFixture(context) } }, context);
    for (let i = 0; i < 30; i++) {
      const client = await connectHttp(kind, gateway.url('fix'), context, { capabilities });
      answerQuestions(kind, client);
      await checkQuestions(client, '');
      await client.close();
    }
  });

  await test(`${kind}: questions of a server over HTTP reach a client on stdio`, async (context) => {
    const config = { mcpServers: { fix: await startFixture(context) }, limits: { listWait: '20s' } };
    const client = await connectStdio(kind, undefined, { ...context, config }, { capabilities });
    answerQuestions(kind, client);
    await checkQuestions(client, 'fix__');
  });
}

for (const kind of Object.keys(clients)) {
  await test(`${kind}: a call that the client gives up ends at once, and nothing else does`, async (context) => {
    const { everything } = servers(scratch(context.defer));
    const gateway = await serve({ mcpServers: { everything: everything.settings } }, context);
    const client = await connectHttp(kind, gateway.url('everything'), context);
    const controller = new AbortController();
    const request = { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 600 } };
    const options = { signal: controller.signal, onprogress: () => controller.abort() };
    const pending = kind === 'sdk 1' ? client.callTool(request, undefined, options) : client.callTool(request, options);
    await assert.rejects(pending);
    await gateway.log.until(/call.*trigger-long-running-operation.*cancelled/);
    assert.match(textOf(await client.callTool(everything.call)), /hello/);
  });
}

const accept = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };

async function openSession(url) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const hello = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
  const opened = await fetch(url, { method: 'POST', headers: accept, body: JSON.stringify(hello) });
  await opened.text();
  const headers = { ...accept, 'Mcp-Session-Id': opened.headers.get('mcp-session-id'), 'MCP-Protocol-Version': '2025-11-25' };
  const post = (message) => fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  await post({ method: 'notifications/initialized' });
  return { headers, post };
}

await test('a session that was ended is gone', async (context) => {
  const gateway = await serve({ mcpServers: { fix: await startFixture(context) } }, context);
  const { headers, post } = await openSession(gateway.url('fix'));
  assert.equal((await post({ id: 1, method: 'ping' })).status, 200);
  assert.equal((await fetch(gateway.url('fix'), { method: 'DELETE', headers })).status, 204);
  assert.equal((await post({ id: 2, method: 'ping' })).status, 404);
});

await test('a broken stream is resumed and brings the answer', async (context) => {
  const gateway = await serve({ mcpServers: { fix: await startFixture(context) } }, context);
  const { headers, post } = await openSession(gateway.url('fix'));
  const params = { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 'p' } };
  const stream = (await post({ id: 5, method: 'tools/call', params })).body.getReader();
  const first = Buffer.from((await stream.read()).value).toString();
  const [, last] = /id: (\S+)/.exec(first);
  await stream.cancel();
  const resumed = await fetch(gateway.url('fix'), { headers: { ...headers, 'Last-Event-ID': last } });
  const text = await resumed.text();
  assert.match(text, /"id":5,|"id":5}/);
  assert.match(text, /"result"/);
});
done();
