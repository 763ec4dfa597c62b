// Every official client against every real server, through each of the gateway's three faces.
import assert from 'node:assert';
import http from 'node:http';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { done, test } from '../../lib/tap.mjs';
import { collect, ended, eventually, modules, node, scratch, serve } from '../../lib/gateway.mjs';
import { clients, connectHttp, connectStdio, outcomeOf, servers, textOf } from './lib.mjs';

function checkCall(server, result) {
  assert.match(textOf(result), server.expect);
  assert.equal(outcomeOf(result).source, 'live');
  if (!server.mayFail) assert.ok(!result.isError, textOf(result));
}

for (const kind of Object.keys(clients)) {
  await test(
    `${kind}: all servers at once over HTTP`,
    async ({ defer, comment }) => {
      const dir = scratch(defer);
      const all = servers(dir);
      const mcpServers = Object.fromEntries(Object.entries(all).map(([name, { settings }]) => [name, settings]));
      const gateway = await serve({ mcpServers, limits: { listWait: '20s' } }, { defer, comment });
      const client = await connectHttp(kind, gateway.url(), { defer });
      await import('node:fs').then((fs) => fs.writeFileSync(path.join(dir, 'holdfast.json'), '{}'));
      const { tools } = await client.listTools();
      for (const [name, server] of Object.entries(all)) {
        const shown = `${name}__${server.call.name}`;
        assert.ok(tools.some((tool) => tool.name === shown), `${shown} is not listed`);
        checkCall(server, await client.callTool({ name: shown, arguments: server.call.arguments }));
      }
    },
    { timeoutMs: 60000 },
  );

  await test(`${kind}: one server by its own names`, async ({ defer, comment }) => {
    const { calc } = servers(scratch(defer));
    const gateway = await serve({ mcpServers: { calc: calc.settings } }, { defer, comment });
    const client = await connectHttp(kind, gateway.url('calc'), { defer });
    checkCall(calc, await client.callTool(calc.call));
  });

  await test(`${kind}: holdfast stdio`, async ({ defer }) => {
    const { memory, calc } = servers(scratch(defer));
    const config = { mcpServers: { memory: memory.settings, calc: calc.settings }, limits: { listWait: '20s' } };
    const client = await connectStdio(kind, undefined, { defer, config });
    const { tools } = await client.listTools();
    assert.equal(tools.filter((tool) => tool.name.startsWith('memory__')).length, 9);
    assert.equal(tools.filter((tool) => tool.name.startsWith('calc__')).length, 21);
    checkCall(calc, await client.callTool({ name: 'calc__math', arguments: calc.call.arguments }));
  });

  await test(`${kind}: holdfast wrap`, async ({ defer }) => {
    const { everything } = servers(scratch(defer));
    const client = await connectStdio(kind, everything.settings, { defer });
    checkCall(everything, await client.callTool(everything.call));
  });

  await test(`${kind}: progress of a long call`, async ({ defer, comment }) => {
    const { everything } = servers(scratch(defer));
    const gateway = await serve({ mcpServers: { everything: everything.settings } }, { defer, comment });
    const client = await connectHttp(kind, gateway.url('everything'), { defer });
    const seen = [];
    const call = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } };
    const options = { onprogress: ({ progress }) => seen.push(progress) };
    const result =
      kind === 'sdk 1' ? await client.callTool(call, undefined, options) : await client.callTool(call, options);
    assert.match(textOf(result), /completed/i);
    assert.deepEqual(seen, [1, 2, 3, 4]);
  });

  await test(`${kind}: an unknown tool is said to be unknown`, async ({ defer, comment }) => {
    const { calc } = servers(scratch(defer));
    const gateway = await serve({ mcpServers: { calc: calc.settings } }, { defer, comment });
    const client = await connectHttp(kind, gateway.url(), { defer });
    await client.listTools();
    const result = await client
      .callTool({ name: 'calc__maths', arguments: {} })
      .catch((error) => ({ isError: true, content: [{ text: error.message }] }));
    assert.ok(result.isError);
    assert.match(textOf(result), /calc__math\b/);
  });
}

for (const kind of ['sdk 1', 'sdk 2']) {
  await test(`${kind}: sampling and elicitation through the gateway`, async ({ defer, comment }) => {
    const { everything } = servers(scratch(defer));
    const settings = { ...everything.settings, instance: 'session' };
    const gateway = await serve({ mcpServers: { everything: settings } }, { defer, comment });
    const client = clients[kind].client({ capabilities: { sampling: {}, elicitation: {}, roots: {} } });
    defer(() => client.close());
    const answer = { role: 'assistant', model: 'none', content: { type: 'text', text: 'from the client' } };
    if (kind === 'sdk 1') {
      const { CreateMessageRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
      client.setRequestHandler(CreateMessageRequestSchema, async () => answer);
    } else {
      client.setRequestHandler('sampling/createMessage', async () => answer);
    }
    await client.connect(clients[kind].http(gateway.url('everything')));
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => /sampling/.test(name));
    assert.ok(tool, tools.map(({ name }) => name).join(' '));
    const result = await client.callTool({ name: tool.name, arguments: { prompt: 'say something', maxTokens: 10 } });
    assert.match(textOf(result), /from the client/);
  });
}

async function freePort() {
  const server = http.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startEverythingHttp(port) {
  const script = path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js');
  const child = spawn(node, [script, 'streamableHttp'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PORT: String(port) },
  });
  await collect(child.stderr).until(/listening|port/i);
  return child;
}

for (const kind of Object.keys(clients)) {
  await test(`${kind}: a server over HTTP that restarts between calls`, async ({ defer, comment }) => {
    const port = await freePort();
    let child = await startEverythingHttp(port);
    defer(() => child.kill('SIGKILL'));
    const url = `http://127.0.0.1:${port}/mcp`;
    const gateway = await serve({ mcpServers: { everything: { url } } }, { defer, comment });
    const client = await connectHttp(kind, gateway.url('everything'), { defer });
    const call = { name: 'echo', arguments: { message: 'hello' } };
    assert.match(textOf(await client.callTool(call)), /hello/);
    child.kill('SIGKILL');
    await ended(child);
    child = await startEverythingHttp(port);
    assert.match(textOf(await client.callTool(call)), /hello/);
  });
}

await test('a server over HTTP that is killed in the middle of a call', async ({ defer, comment }) => {
  const port = await freePort();
  let child = await startEverythingHttp(port);
  defer(() => child.kill('SIGKILL'));
  const gateway = await serve({ policies: { default: { retry: { patience: '1s' } } }, mcpServers: { everything: { url: `http://127.0.0.1:${port}/mcp` } } }, { defer, comment });
  const client = await connectHttp('sdk 2', gateway.url('everything'), { defer });
  const seen = [];
  const call = { name: 'trigger-long-running-operation', arguments: { duration: 20, steps: 100 } };
  const pending = client.callTool(call, { onprogress: (progress) => seen.push(progress) });
  await eventually(() => seen.length > 0, 'progress');
  child.kill('SIGKILL');
  const result = await pending;
  assert.ok(result.isError);
  assert.equal(outcomeOf(result).executed, 'maybe');
  child = await startEverythingHttp(port);
  assert.match(textOf(await client.callTool({ name: 'echo', arguments: { message: 'again' } })), /again/);
}, { timeoutMs: 40000 }); // its stream is asked for again, three times, before it is given up
done();
