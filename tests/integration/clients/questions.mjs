// Questions back to the agent before the real binary: official clients of both eras, official servers of both, in all four
// combinations. What the servers say in the end holds what the clients answered, so it went there and back.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as schemas from '@modelcontextprotocol/sdk/types.js';
import { done, test } from '../../lib/tap.mjs';
import { collect, ended, modules, node, serve } from '../../lib/gateway.mjs';
import { clients, connectHttp, connectStdio, outcomeOf, textOf } from './lib.mjs';

const fixture = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../conformance/fixture.mjs');
const everything = {
  command: node,
  args: [path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'],
  instance: 'session',
};
const all = { capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} } };

// Has the client answer what it is asked; returns what that was.
function answer(kind, client, { elicit, sample = 'Paris', roots = ['file:///here'] } = {}) {
  const asked = [];
  const on = (schema, method, result) =>
    client.setRequestHandler(kind === 'sdk 1' ? schema : method, async ({ params }) => {
      asked.push({ method, params });
      return result(params);
    });
  on(schemas.ElicitRequestSchema, 'elicitation/create', elicit ?? (({ requestedSchema }) => ({
    action: 'accept',
    ...(requestedSchema ? { content: Object.fromEntries(Object.keys(requestedSchema.properties).map((key) => [key, 'Ada'])) } : {}),
  })));
  on(schemas.CreateMessageRequestSchema, 'sampling/createMessage', () => ({
    role: 'assistant', model: 'm', stopReason: 'endTurn', content: { type: 'text', text: sample },
  }));
  on(schemas.ListRootsRequestSchema, 'roots/list', () => ({ roots: roots.map((uri) => ({ uri, name: 'here' })) }));
  return asked;
}

async function startFixture(context, era) {
  const child = spawn(node, [fixture], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.defer(async () => {
    child.kill();
    await ended(child);
  });
  const [, port] = await collect(child.stdout).until(/^(\d+)\n/);
  return { url: `http://127.0.0.1:${port}/mcp`, era, instance: 'session' };
}

async function connect(kind, context, server, options = all) {
  const gateway = await serve({ mcpServers: { s: server } }, context);
  return connectHttp(kind, gateway.url(), context, options);
}

const call = (client, name, args = {}) => client.callTool({ name: `s__${name}`, arguments: args });

for (const kind of Object.keys(clients)) {
  await test(`${kind}, modern server: each kind of question, and all at once`, async (context) => {
    const client = await connect(kind, context, await startFixture(context, 'modern'));
    const asked = answer(kind, client);
    const said = async (name) => textOf(await call(client, `test_input_required_result_${name}`));
    assert.equal(await said('elicitation'), 'Hello, Ada!');
    assert.equal(await said('sampling'), 'Paris');
    assert.equal(await said('list_roots'), 'file:///here');
    assert.equal(await said('request_state'), 'state-ok');
    assert.equal(await said('multiple_inputs'), 'Paris Ada, 1 roots');
    assert.equal(asked.length, 7);
    const last = await call(client, 'test_input_required_result_multi_round');
    assert.equal(textOf(last), 'All rounds done.');
    assert.equal(outcomeOf(last).attempts, 1);
  });

  await test(`${kind}, modern server: who declares nothing gets one clear answer`, async (context) => {
    const client = await connect(kind, context, await startFixture(context, 'modern'), {});
    const result = await call(client, 'test_missing_capability').catch((error) => error);
    if (clients[kind].era === 'legacy') {
      assert.equal(result.isError, true);
      assert.match(textOf(result), /asks for input that this client does not give.*did not declare/);
    } else {
      assert.match(String(result.message ?? textOf(result)), /sampling|capabilit/i);
    }
  });

  await test(`${kind}, legacy server over HTTP: a form and a model`, async (context) => {
    const client = await connect(kind, context, await startFixture(context, 'legacy'));
    const asked = answer(kind, client);
    const form = await call(client, 'test_elicitation', { message: 'Who?' });
    assert.match(textOf(form), /action=accept, content=\{"username":"Ada","email":"Ada"\}/);
    assert.equal(outcomeOf(form).attempts, 1);
    assert.equal(textOf(await call(client, 'test_sampling', { prompt: 'Capital?' })), 'LLM response: Paris');
    assert.deepEqual(asked.map(({ method }) => method), ['elicitation/create', 'sampling/createMessage']);
    assert.equal(asked[0].params.message, 'Who?');
  });

  await test(`${kind}, legacy server over HTTP: many at once, each its own`, async (context) => {
    const client = await connect(kind, context, await startFixture(context, 'legacy'));
    answer(kind, client, { elicit: ({ message }) => ({ action: 'accept', content: { username: message, email: 'e' } }) });
    const names = Array.from({ length: 20 }, (_, i) => `name-${i}`);
    const results = await Promise.all(names.map((message) => call(client, 'test_elicitation', { message })));
    results.forEach((result, i) => assert.match(textOf(result), new RegExp(`"username":"${names[i]}"`)));
  });

  await test(`${kind}, legacy server as a child: form, model, roots, pages`, async (context) => {
    const client = await connect(kind, context, everything);
    const asked = answer(kind, client, {
      elicit: ({ requestedSchema }) => ({ action: requestedSchema ? 'decline' : 'accept' }),
    });
    assert.match(textOf(await call(client, 'trigger-elicitation-request')), /declined/);
    assert.match(textOf(await call(client, 'trigger-sampling-request', { prompt: 'Capital?' })), /Paris/);
    assert.match(textOf(await call(client, 'get-roots-list')), /file:\/\/\/here/);
    const page = { url: 'https://example.org/page' };
    assert.match(textOf(await call(client, 'trigger-url-elicitation', page)), /completed the URL elicitation/);
    assert.equal(asked.at(-1).params.url, page.url);
  });

  await test(`${kind}, legacy server as a child: a page first (-32042)`, async (context) => {
    const client = await connect(kind, context, everything);
    const asked = answer(kind, client, { elicit: () => ({ action: 'accept' }) });
    const args = { url: 'https://example.org/page', errorPath: true };
    if (clients[kind].era === 'legacy') {
      await assert.rejects(call(client, 'trigger-url-elicitation', args), ({ code }) => code === -32042);
      return;
    }
    assert.match(textOf(await call(client, 'trigger-url-elicitation', args)), /completed the URL elicitation/);
    const opened = asked.filter(({ method }) => method === 'elicitation/create').map(({ params }) => params.url);
    assert.deepEqual(opened, ['https://modelcontextprotocol.io', 'https://example.org/page']);
  });

  await test(`${kind} over stdio: a form of a child`, async (context) => {
    const client = await connectStdio(kind, null, { ...context, config: { mcpServers: { s: everything } } }, all);
    answer(kind, client, { elicit: () => ({ action: 'cancel' }) });
    assert.match(textOf(await call(client, 'trigger-elicitation-request')), /cancel/);
  });
}

// Their calls go through one session of the server, which asks beside their streams: whose question it is, nothing says.
await test('two modern clients at once, one of which declares nothing: nobody is asked for the other', async (context) => {
  const gateway = await serve({ mcpServers: { s: await startFixture(context, 'legacy') } }, context);
  const can = await connectHttp('sdk 2 pinned', gateway.url(), context, all);
  const cannot = await connectHttp('sdk 2 pinned', gateway.url(), context);
  const asked = answer('sdk 2 pinned', can);
  const [yes, no] = await Promise.all([
    call(can, 'test_elicitation', { message: 'Who?' }),
    call(cannot, 'test_elicitation', { message: 'Who else?' }),
  ]);
  assert.equal(no.isError, true);
  assert.ok(yes.isError || /"username":"Ada"/.test(textOf(yes)));
  assert.ok(asked.every(({ params }) => params.message === 'Who?'));
  assert.match(textOf(await call(can, 'test_elicitation', { message: 'Who?' })), /"username":"Ada"/);
});

// What server-everything lists depends on what its client has declared. Modern clients over HTTP share what is started for
// them, and say with each request what they can be asked: they are listed all of it.
const declared = [
  [{}, []],
  [{ roots: {}, sampling: {}, elicitation: {} }, ['get-roots-list', 'trigger-elicitation-request', 'trigger-sampling-request']],
  [all.capabilities, ['get-roots-list', 'trigger-elicitation-request', 'trigger-sampling-request', 'trigger-url-elicitation']],
];
const config = { mcpServers: { s: everything, shared: { ...everything, instance: 'shared' } } };

async function listedMore(client) {
  const { tools } = await client.listTools();
  const of = (server) => tools.map(({ name }) => name.split('__')).filter(([at]) => at === server).map(([, name]) => name);
  const base = new Set(of('shared'));
  assert.equal(base.size, 13);
  return of('s').filter((name) => !base.has(name)).sort();
}

for (const [kind, { era }] of Object.entries(clients)) {
  await test(`${kind}: each client is listed the tools that go with what it declares`, async (context) => {
    const gateway = await serve(config, context);
    for (const [capabilities, more] of declared) {
      const overHttp = await connectHttp(kind, gateway.url(), context, { capabilities });
      assert.deepEqual(await listedMore(overHttp), era === 'modern' ? declared.at(-1)[1] : more);
      const overStdio = await connectStdio(kind, undefined, { ...context, config }, { capabilities });
      assert.deepEqual(await listedMore(overStdio), more);
    }
  });
}
done();
