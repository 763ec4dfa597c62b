// The life and death of processes: nobody is left behind, however the gateway ends.
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { done, test } from '../../lib/tap.mjs';
import { binary, chaos, ended, eventually, executions, scratch, serve } from '../../lib/gateway.mjs';
import { connectHttp, connectStdio, outcomeOf, textOf } from './lib.mjs';

// All descendants of a process, by the kernel's account.
function descendants(pid) {
  const children = new Map();
  for (const entry of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = fs.readFileSync(`/proc/${entry}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    } catch {
      continue; // it ended while we looked
    }
  }
  const all = [];
  const queue = [pid];
  while (queue.length > 0) {
    for (const child of children.get(queue.shift()) ?? []) {
      all.push(child);
      queue.push(child);
    }
  }
  return all;
}

function alive(pid) {
  try {
    return !/^\d+ \(.*\) Z/s.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

const noneAlive = (pids) => eventually(() => !pids.some(alive), `the end of ${pids.filter(alive)}`);

const stubborn = (dir, ...args) => ({
  command: chaos,
  args: ['--stdio', '--ledger', path.join(dir, 'ledger'), '--ignore-eof', '--ignore-term', ...args],
  start: 'eager',
});

for (const [how, signal] of [
  ['killed', 'SIGKILL'],
  ['stopped', 'SIGTERM'],
]) {
  await test(`D08 twenty children that ignore everything end when the gateway is ${how}`, async ({ defer, comment }) => {
    const dir = scratch(defer);
    const mcpServers = Object.fromEntries(Array.from({ length: 20 }, (none, i) => [`s${i}`, stubborn(dir)]));
    const gateway = await serve({ mcpServers, limits: { drain: '500ms' } }, { defer, comment });
    const client = await connectHttp('sdk 2', gateway.url(), { defer });
    await client.listTools();
    const pids = descendants(gateway.child.pid);
    assert.ok(pids.length >= 20, `only ${pids.length} children`);
    gateway.child.kill(signal);
    await ended(gateway.child);
    await noneAlive(pids);
  });

  await test(`D09 a wrapper's grandchild ends when the gateway is ${how}`, async ({ defer, comment }) => {
    const dir = scratch(defer);
    const { args } = stubborn(dir, '--grandchild');
    const server = { command: '/bin/sh', args: ['-c', `'${chaos}' ${args.join(' ')}; exit 0`], start: 'eager' };
    const gateway = await serve({ mcpServers: { server }, limits: { drain: '500ms' } }, { defer, comment });
    const client = await connectHttp('sdk 2', gateway.url(), { defer });
    await client.listTools();
    await eventually(() => executions(path.join(dir, 'ledger'), 'grandchild') === 1, 'the grandchild');
    const pids = descendants(gateway.child.pid);
    assert.ok(pids.length >= 3, `only ${pids.length} descendants`);
    gateway.child.kill(signal);
    await ended(gateway.child);
    await noneAlive(pids);
  });
}

await test('D09-pipe a grandchild that holds the pipes does not hold up the end', async ({ defer, comment }) => {
  const dir = scratch(defer);
  const server = { command: chaos, args: ['--stdio', '--ledger', path.join(dir, 'ledger'), '--grandchild'] };
  const gateway = await serve({ mcpServers: { server } }, { defer, comment });
  const client = await connectHttp('sdk 2', gateway.url('server'), { defer });
  const result = await client.callTool({ name: 'charge', arguments: { key: 'k', _fault: 'exec+death:1' } });
  assert.ok(result.isError);
  assert.equal(outcomeOf(result).executed, 'maybe');
  assert.ok(!(await client.callTool({ name: 'charge', arguments: { key: 'l' } })).isError);
  assert.equal(executions(path.join(dir, 'ledger'), 'charge', 'k'), 1);
});

await test('the stdio front that is killed leaves nobody behind', async ({ defer }) => {
  const dir = scratch(defer);
  const client = await connectStdio('sdk 2', undefined, { defer, config: { mcpServers: { s: stubborn(dir) } } });
  await client.listTools();
  const pids = descendants(client.pid);
  assert.ok(pids.length >= 1);
  process.kill(client.pid, 'SIGKILL');
  await noneAlive([client.pid, ...pids]);
});

await test('a child that is killed in the middle of a call is told of, and the next call works', async ({ defer, comment }) => {
  const dir = scratch(defer);
  const server = { command: chaos, args: ['--stdio', '--ledger', path.join(dir, 'ledger')] };
  const gateway = await serve({ mcpServers: { server } }, { defer, comment });
  const client = await connectHttp('sdk 1', gateway.url('server'), { defer });
  const bad = await client.callTool({ name: 'charge', arguments: { key: 'k', _fault: 'exec+kill' } });
  assert.ok(bad.isError);
  assert.equal(outcomeOf(bad).executed, 'maybe');
  assert.equal(executions(path.join(dir, 'ledger'), 'charge', 'k'), 1);
  const good = await client.callTool({ name: 'read', arguments: { key: 'k' } });
  assert.match(textOf(good), /read k/);
});

await test('D10 sessions with children of their own come and go without leaving descriptors', async ({ defer, comment }) => {
  const dir = scratch(defer);
  const server = { command: chaos, args: ['--stdio', '--ledger', path.join(dir, 'ledger')], instance: 'session' };
  const gateway = await serve({ mcpServers: { server } }, { defer, comment });
  const count = () => fs.readdirSync(`/proc/${gateway.child.pid}/fd`).length;
  const cycle = async () => {
    const client = await connectHttp('sdk 2', gateway.url('server'), { defer: () => {} });
    await client.callTool({ name: 'read', arguments: { key: 'k' } });
    await client.transport.terminateSession();
    await client.close();
  };
  await cycle();
  await eventually(() => descendants(gateway.child.pid).length <= 1, 'the end of the first child');
  const before = count();
  for (let i = 0; i < 40; i++) await cycle();
  await eventually(() => descendants(gateway.child.pid).length <= 1, 'the end of all children');
  await eventually(() => count() <= before + 4, `few descriptors: ${before} before, ${count()} after`);
}, { timeoutMs: 60000 });

await test('a gateway whose file lists itself as a server does not start itself again', async ({ defer }) => {
  const dir = scratch(defer);
  const file = path.join(dir, 'client.json');
  const ledger = path.join(dir, 'ledger');
  fs.writeFileSync(
    file,
    JSON.stringify({
      mcpServers: {
        holdfast: { command: binary, args: ['stdio', '--config', file] },
        other: { command: chaos, args: ['--stdio', '--ledger', ledger] },
      },
    }),
  );
  const run = spawnSync(binary, ['tools', '--config', file, '--log-level', 'info'], { encoding: 'utf8', timeout: 20000 });
  assert.equal(run.status, 0, run.stderr);
  assert.match(run.stderr, /is holdfast itself with the same file/);
  assert.match(run.stdout, /^other__charge /m);
  assert.doesNotMatch(run.stdout, /^holdfast__/m);
}, { timeoutMs: 30000 });
done();
