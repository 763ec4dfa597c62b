// Tasks before the real binary: official clients that know them, of both protocols, and some that don't, with servers that
// make tasks, of both protocols, and some that don't. The servers keep a ledger, so what ran twice is seen.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { done, test } from '../../lib/tap.mjs';
import { collect, ended, eventually, executions, modules, node, scratch, serve } from '../../lib/gateway.mjs';
import { connectHttp, connectStdio, outcomeOf, textOf } from './lib.mjs';
import { connectTaker, eraOf, takers, takerOver } from './takers.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const extension = path.join(here, '../../conformance/tasks.mjs');
const legacy = path.join(here, '../lib/task_server.mjs');
const everything = {
  command: node,
  args: [path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'],
  instance: 'session',
};

// name → which program it is, and whether its calls become tasks there
const servers = {
  'a server with the extension': { program: extension, makes: true },
  'a modern server without tasks': { program: extension, args: ['--plain'] },
  'a server with tasks of 2025-11-25': { program: legacy, makes: true },
  'a legacy server without tasks': { program: legacy, args: ['--plain'] },
};
const others = ['sdk 1', 'sdk 2', 'sdk 2 pinned'];

// Some at once, since most of each is waiting.
const AT_ONCE = 4;
const CASE_MS = 60000;
const cases = [];
const add = (name, body) => cases.push(() => test(name, body, { timeoutMs: CASE_MS }));

// Whatever a server's tools ask, accepted.
const accept = ({ message, requestedSchema }) => {
  if (requestedSchema.properties.confirm) return { action: 'accept', content: { confirm: true } };
  return { action: 'accept', content: { name: message.startsWith('First') ? 'Ada' : 'Byron' } };
};

async function startServer({ defer }, { program, args = [] }, ...more) {
  const ledger = path.join(scratch(defer), 'ledger');
  const child = spawn(node, [program, ...args, ...more, '--ledger', ledger], { stdio: ['ignore', 'pipe', 'inherit'] });
  defer(async () => {
    child.kill();
    await ended(child);
  });
  const [, port] = await collect(child.stdout).until(/^(\d+)\n/);
  const ran = (tool, key) => executions(ledger, tool, key);
  // It works, and where it makes tasks of its calls, the gateway knows of this one.
  const busy = (tool) =>
    eventually(() => ran(tool) === 1 && (args.includes('--plain') || ran('tasks/get') > 0), 'that the gateway waits for it', 15000);
  return { url: `http://127.0.0.1:${port}/mcp`, ran, busy };
}

// Whoever knows tasks gets them: of the servers that make none, or only when they are asked to, by the gateway.
const configFor = (server, { program, makes }, more = {}) => ({
  mcpServers: { s: { url: server.url, instance: 'session' } },
  ...(makes && program === extension ? {} : { tools: { 's__*': { tasks: 'always' } } }),
  ...more,
});

// A gateway that may be killed and come back as it was, at the same address and with the same state.
async function lasting(context, config) {
  const dir = scratch(context.defer);
  const env = { XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir };
  const first = await serve(config, { ...context, env });
  return { ...first, again: () => serve({ ...config, listen: first.address }, { ...context, env }) };
}

const digest = (token) => `sha256:${createHash('sha256').update(token).digest('hex')}`;

// Of a failure ext-tasks gives the words only where it is one of 2025-11-25.
const fails = (came, words, executed) => {
  assert.equal(came.status === 'failed' || came.result?.isError, true, JSON.stringify(came));
  assert.match(came.result ? textOf(came.result) : String(came.error.message), words);
  if (executed && came.result) assert.equal(outcomeOf(came.result).executed, executed);
};

// As a client of 2025-11-25, ext-tasks never asks for the result of a task that waits for input, so it cannot be asked
// anything: without a gateway, too, such a task does not end.
const answers = (kind) => kind !== 'ext-tasks';

for (const kind of takers)
  for (const [name, server] of Object.entries(servers)) {
    add(`${kind}, ${name}: what a task comes to`, async (context) => {
      const upstream = await startServer(context, server);
      const gateway = await serve(configFor(upstream, server), context);
      const taker = await connectTaker(kind, gateway.url(), context, accept);
      const slow = await taker.start('s__slow_compute', { seconds: 2, label: 'slow' });
      assert.ok(slow.id, 'it is a task');
      const { status, result } = await slow.came;
      assert.equal(status, 'completed');
      assert.equal(textOf(result), 'computed slow in 2 s');
      assert.equal(outcomeOf(result).attempts, 1);
      assert.equal(upstream.ran('slow_compute'), 1);
      if (server.makes) assert.ok(slow.said.includes('computing for 2 s'), `it said ${slow.said}`);

      const failing = await taker.start('s__failing_job', { label: 'failing' });
      assert.ok(failing.id);
      const failed = await failing.came;
      assert.equal(failed.status, eraOf(kind) === 'modern' ? 'completed' : 'failed');
      fails(failed, /the job has failed/);
      assert.equal(upstream.ran('failing_job'), 1);

      const broken = await taker.start('s__protocol_error_job', { label: 'broken' });
      fails(await broken.came, /the job broke down/);
      assert.equal(upstream.ran('protocol_error_job'), 1);
    });

    if (answers(kind)) add(`${kind}, ${name}: what a task asks`, async (context) => {
      const upstream = await startServer(context, server);
      const gateway = await serve(configFor(upstream, server), context);
      const asked = [];
      const taker = await connectTaker(kind, gateway.url(), context, (params) => (asked.push(params.message), accept(params)));
      const confirm = await taker.start('s__confirm_delete', { filename: 'f' });
      assert.ok(confirm.id);
      assert.equal(textOf((await confirm.came).result), 'deleted f');
      const both = await taker.start('s__multi_input', { label: 'both' });
      assert.equal(textOf((await both.came).result), 'Ada Byron');
      assert.deepEqual(asked.sort(), ['Delete f?', 'First name?', 'Last name?']);
      assert.equal(upstream.ran('confirm_delete', 'f'), 1);
      assert.equal(upstream.ran('multi_input', 'both'), 1);
    });

    add(`${kind}, ${name}: a task is cancelled`, async (context) => {
      const upstream = await startServer(context, server);
      const gateway = await serve(configFor(upstream, server), context);
      const taker = await connectTaker(kind, gateway.url(), context);
      const run = await taker.start('s__slow_compute', { seconds: 30, label: 'long' });
      await upstream.busy('slow_compute');
      await taker.cancel(run.id);
      assert.equal((await run.came).status, 'cancelled');
      await eventually(() => upstream.ran('slow_compute.cancelled', 'long') === 1, 'the cancellation at the server', 15000);
      assert.equal(upstream.ran('slow_compute', 'long'), 1);
    });

    add(`${kind}, ${name}: the client goes away, and another one of it takes the result`, async (context) => {
      const upstream = await startServer(context, server);
      const gateway = await serve(configFor(upstream, server), context);
      const first = await connectTaker(kind, gateway.url(), context);
      const run = await first.start('s__slow_compute', { seconds: 0.5, label: 'away' });
      run.came.catch(() => {});
      await first.close();
      const second = await connectTaker(kind, gateway.url(), context);
      const { status, result } = await (await second.resume(run.reference)).came;
      assert.equal(status, 'completed');
      assert.equal(textOf(result), 'computed away in 0.5 s');
      assert.equal(upstream.ran('slow_compute', 'away'), 1);
    });

    add(`${kind}, ${name}: the gateway is killed in the middle`, async (context) => {
      const upstream = await startServer(context, server);
      const gateway = await lasting(context, configFor(upstream, server));
      const first = await connectTaker(kind, gateway.url(), context);
      const run = await first.start('s__slow_compute', { seconds: 3, label: 'killed' });
      run.came.catch(() => {});
      await upstream.busy('slow_compute');
      await gateway.stop('SIGKILL');
      const after = await gateway.again();
      const second = await connectTaker(kind, after.url(), context);
      const came = await (await second.resume(run.reference)).came;
      if (server.makes) assert.equal(textOf(came.result), 'computed killed in 3 s');
      else fails(came, /may have been executed/, 'maybe');
      assert.equal(upstream.ran('slow_compute', 'killed'), 1);
    });

    add(`${kind}, ${name}: the gateway is stopped in the middle`, async (context) => {
      const upstream = await startServer(context, server);
      const gateway = await lasting(context, configFor(upstream, server, { limits: { drain: '200ms' } }));
      const first = await connectTaker(kind, gateway.url(), context);
      const run = await first.start('s__slow_compute', { seconds: 3, label: 'stopped' });
      run.came.catch(() => {});
      await upstream.busy('slow_compute');
      await gateway.stop();
      const after = await gateway.again();
      const second = await connectTaker(kind, after.url(), context);
      const came = await (await second.resume(run.reference)).came;
      if (server.makes) assert.equal(textOf(came.result), 'computed stopped in 3 s');
      else fails(came, /may have been executed/, 'maybe');
      assert.equal(upstream.ran('slow_compute', 'stopped'), 1);
    });

    add(`${kind}, ${name}: the task of another principal is none`, async (context) => {
      const upstream = await startServer(context, server);
      const gateway = await serve(configFor(upstream, server, { auth: { tokens: { alice: digest('a-secret'), bob: digest('b-secret') } } }), context);
      const connect = (token) =>
        connectTaker(kind, gateway.url(), { ...context, headers: { Authorization: `Bearer ${token}` } });
      const [alice, bob] = [await connect('a-secret'), await connect('b-secret')];
      const run = await alice.start('s__slow_compute', { seconds: 1, label: 'mine' });
      const none = /no such task|not found|unknown task/i;
      await assert.rejects(bob.cancel(run.id), none);
      await assert.rejects(async () => {
        const { error } = await (await bob.resume(run.reference)).came;
        throw error;
      }, none);
      if (eraOf(kind) === 'legacy') {
        assert.deepEqual(await alice.list(), [run.id]);
        assert.deepEqual(await bob.list(), []);
      }
      assert.equal(textOf((await run.came).result), 'computed mine in 1 s');
    });
  }

for (const kind of others)
  for (const [name, server] of Object.entries(servers)) {
    add(`${kind}, without tasks, ${name}: an answer like any other`, async (context) => {
      const upstream = await startServer(context, server);
      const gateway = await serve(configFor(upstream, server), context);
      const client = await connectHttp(kind, gateway.url(), context, { capabilities: { elicitation: { form: {} } } });
      client.setRequestHandler(kind === 'sdk 1' ? ElicitRequestSchema : 'elicitation/create', async ({ params }) => accept(params));
      await client.listTools();
      const said = [];
      const call = (tool, args, options) => client.callTool({ name: `s__${tool}`, arguments: args }, ...(kind === 'sdk 1' ? [undefined] : []), options);
      const slow = await call('slow_compute', { seconds: 0.5, label: 'slow' }, { onprogress: ({ message }) => said.push(message) });
      assert.equal(textOf(slow), 'computed slow in 0.5 s');
      assert.equal(outcomeOf(slow).attempts, 1);
      if (server.makes && server.program === extension) assert.ok(said.includes('computing for 0.5 s'), `it said ${said}`);
      const failed = await call('failing_job', { label: 'failing' });
      assert.equal(failed.isError, true);
      assert.match(textOf(failed), /the job has failed/);
      const broken = await call('protocol_error_job', { label: 'broken' }).catch((error) => ({ isError: true, content: [{ text: error.message }] }));
      assert.equal(broken.isError, true);
      assert.match(textOf(broken), /the job broke down/);
      assert.equal(textOf(await call('confirm_delete', { filename: 'f' })), 'deleted f');
      assert.equal(textOf(await call('multi_input', { label: 'both' })), 'Ada Byron');
      for (const tool of ['slow_compute', 'failing_job', 'protocol_error_job', 'confirm_delete', 'multi_input'])
        assert.equal(upstream.ran(tool), 1, tool);
    });

    add(`${kind}, without tasks, ${name}: a call is cancelled`, async (context) => {
      const upstream = await startServer(context, server);
      // A modern client's call that broke off would otherwise be kept for a moment, for the client to take it up again.
      const gateway = await serve({ ...configFor(upstream, server), tools: { 's__*': { coalesce: 0 } } }, context);
      const client = await connectHttp(kind, gateway.url(), context);
      const leaving = new AbortController();
      const call = client.callTool(
        { name: 's__slow_job', arguments: { seconds: 30, label: 'long' } },
        ...(kind === 'sdk 1' ? [undefined] : []),
        { signal: leaving.signal },
      );
      await upstream.busy('slow_job');
      leaving.abort('enough');
      await assert.rejects(call);
      await eventually(() => upstream.ran('slow_job.cancelled', 'long') === 1, 'the cancellation at the server', 15000);
      assert.equal(upstream.ran('slow_job', 'long'), 1);
    });
  }

for (const kind of [...takers, ...others]) {
  add(`${kind}, server-everything: research, which may ask in the middle`, async (context) => {
    const gateway = await serve({ mcpServers: { s: everything } }, context);
    const pick = () => ({ action: 'accept', content: { interpretation: 'snake' } });
    const ambiguous = answers(kind);
    const args = { topic: 'python', ambiguous };
    let result;
    if (takers.includes(kind)) {
      const taker = await connectTaker(kind, gateway.url(), context, pick);
      const run = await taker.start('s__simulate-research-query', args);
      assert.ok(run.id);
      ({ result } = await run.came);
    } else {
      const client = await connectHttp(kind, gateway.url(), context, { capabilities: { elicitation: { form: {} } } });
      client.setRequestHandler(kind === 'sdk 1' ? ElicitRequestSchema : 'elicitation/create', async () => pick());
      result = await client.callTool({ name: 's__simulate-research-query', arguments: args });
    }
    assert.match(textOf(result), ambiguous ? /# Research Report: python \(snake\)/ : /# Research Report: python\n/);
    assert.equal(outcomeOf(result).attempts, 1);
  });
}

for (const kind of takers) {
  add(`${kind} over stdio: a task of a child`, async (context) => {
    const server = { command: node, args: [legacy, '--stdio'], instance: 'session' };
    const config = { mcpServers: { s: server }, tools: { 's__*': { tasks: 'always' } } };
    const taker = await takerOver(kind, (base, options) => connectStdio(base, null, { ...context, config }, options), accept);
    const run = await taker.start('s__slow_compute', { seconds: 0.3, label: 'child' });
    assert.ok(run.id);
    assert.equal(textOf((await run.came).result), 'computed child in 0.3 s');
    if (!answers(kind)) return;
    assert.equal(textOf((await (await taker.start('s__confirm_delete', { filename: 'f' })).came).result), 'deleted f');
  });

  add(`${kind}: without a store, tasks are in memory`, async (context) => {
    const server = servers['a server with the extension'];
    const upstream = await startServer(context, server);
    const gateway = await serve(configFor(upstream, server, { store: { enabled: false } }), context);
    const taker = await connectTaker(kind, gateway.url(), context);
    const run = await taker.start('s__slow_compute', { seconds: 0.3, label: 'memory' });
    assert.ok(run.id);
    assert.equal(textOf((await run.came).result), 'computed memory in 0.3 s');
  });

  add(`${kind}: a server that forgets its tasks with the session leaves them open`, async (context) => {
    const upstream = await startServer(context, { program: legacy }, '--by-session');
    const gateway = await lasting(context, configFor(upstream, { program: legacy, makes: true }));
    const first = await connectTaker(kind, gateway.url(), context);
    const run = await first.start('s__slow_compute', { seconds: 3, label: 'session' });
    run.came.catch(() => {});
    await upstream.busy('slow_compute');
    await gateway.stop('SIGKILL');
    const second = await connectTaker(kind, (await gateway.again()).url(), context);
    fails(await (await second.resume(run.reference)).came, /may have been executed/, 'maybe');
    assert.equal(upstream.ran('slow_compute', 'session'), 1);
  });
}

add('ext-tasks pinned: a call becomes a task once it has lasted', async (context) => {
  const upstream = await startServer(context, servers['a legacy server without tasks']);
  const tools = { 's__*': { tasks: 'auto', taskAfter: '500ms' } };
  const gateway = await serve({ mcpServers: { s: { url: upstream.url } }, tools }, context);
  const taker = await connectTaker('ext-tasks pinned', gateway.url(), context);
  const quick = await taker.start('s__slow_compute', { seconds: 0, label: 'quick' });
  assert.equal(quick.id, undefined);
  assert.equal(textOf((await quick.came).result), 'computed quick in 0 s');
  const slow = await taker.start('s__slow_compute', { seconds: 1.5, label: 'slow' });
  assert.ok(slow.id);
  assert.equal(textOf((await slow.came).result), 'computed slow in 1.5 s');
  assert.equal(upstream.ran('slow_compute'), 2);
});

add("ext-tasks pinned: a server whose tasks' results are bare", async (context) => {
  const upstream = await startServer(context, servers['a server with the extension'], '--bare');
  const gateway = await serve({ mcpServers: { s: { url: upstream.url } } }, context);
  const taker = await connectTaker('ext-tasks pinned', gateway.url(), context);
  const run = await taker.start('s__slow_compute', { seconds: 0.2, label: 'bare' });
  assert.equal(textOf((await run.came).result), 'computed bare in 0.2 s');
});

const work = async () => {
  for (let next = cases.shift(); next; next = cases.shift()) await next();
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
done();
