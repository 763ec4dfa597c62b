// `holdfast chaos` as people use it: the official clients before the stand-in, before the proxy of a real server, and
// through `holdfast wrap`, which makes up for what it breaks.
import assert from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { done, test } from '../../lib/tap.mjs';
import { binary, collect, ended, executions, node, scratch } from '../../lib/gateway.mjs';
import { clients, connectHttp, connectStdio, outcomeOf, servers, textOf } from './lib.mjs';

const chaos = (...args) => ({ command: binary, args: ['chaos', ...args] });

async function connectTo(kind, command, { defer }) {
  const client = clients[kind].client({ capabilities: {} });
  defer(() => client.close());
  await client.connect(clients[kind].stdio({ ...command, stderr: 'ignore' }));
  return client;
}

function writeFile(dir, name, text) {
  const file = path.join(dir, name);
  fs.writeFileSync(file, text);
  return file;
}

const call = (name, args = {}) => ({ name, arguments: args });

// One mark a call: what a client saw of it.
async function marks(client, count) {
  let text = '';
  for (let i = 0; i < count; i++) {
    try {
      text += (await client.callTool(call('read', { key: `k${i}` }))).isError ? 'e' : '.';
    } catch (error) {
      text += /made to fail/.test(error.message) ? 'r' : '?';
    }
  }
  return text;
}

for (const kind of Object.keys(clients)) {
  await test(`${kind}: the stand-in on stdio breaks as its seed says, and its ledger tells`, async (context) => {
    const ledger = path.join(scratch(context.defer), 'ledger');
    const args = ['--stdio', '--era', 'both', '--fault', 'iserror=20%,rpc:-32603=0.2'];
    const one = await marks(await connectTo(kind, chaos(...args, '--seed', '5', '--ledger', ledger), context), 40);
    const two = await marks(await connectTo(kind, chaos(...args, '--seed', '5'), context), 40);
    const other = await marks(await connectTo(kind, chaos(...args, '--seed', '6'), context), 40);
    assert.equal(one, two);
    assert.notEqual(one, other);
    assert.match(one, /^(?=.*e)(?=.*r)(?=.*\.)[er.]{40}$/);
    assert.equal(executions(ledger, 'read'), one.replaceAll('r', '').length);
    assert.match(fs.readFileSync(ledger, 'utf8'), /^read k\d+ \d+ \d+ \{"key":"k\d+"\}$/m);
  });

  await test(`${kind}: the stand-in over HTTP has the tools of its configuration`, async (context) => {
    const dir = scratch(context.defer);
    const config = writeFile(
      dir,
      'chaos.yaml',
      `http: 0
era: both
script: ["tools/call iserror:out of stock"]
tools:
  refund:
    text: refunded
    annotations: { idempotentHint: true, destructiveHint: false }
    inputSchema: { type: object, properties: { order: { type: integer } }, required: [order] }
`,
    );
    const child = spawn(binary, ['chaos', '--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
    context.defer(() => (child.kill(), ended(child)));
    const [, port] = await collect(child.stdout).until(/^(\d+)\n/);
    const client = await connectHttp(kind, new URL(`http://127.0.0.1:${port}/mcp`), context);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ['refund']);
    assert.deepEqual(tools[0].inputSchema.required, ['order']);
    assert.equal(textOf(await client.callTool(call('refund', { order: 1 }))), 'out of stock');
    assert.equal(textOf(await client.callTool(call('refund', { order: 1 }))), 'refunded');
  });
}

for (const kind of ['sdk 1', 'sdk 2']) {
  await test(`${kind}: the proxy breaks calls of a real server and passes the rest`, async (context) => {
    const dir = scratch(context.defer);
    const { everything } = servers(dir);
    const ledger = path.join(dir, 'ledger');
    const script = writeFile(dir, 'script', 'tools/call noexec+iserror:no\ntools/call iserror:yes\ntools/call delay:20\n');
    const proxy = chaos('--script', script, '--ledger', ledger, '--key', 'message', '--');
    proxy.args.push(everything.settings.command, ...everything.settings.args);
    const client = await connectTo(kind, proxy, context);
    assert.ok((await client.listTools()).tools.length >= 10);
    const texts = [];
    for (let i = 0; i < 4; i++) texts.push(textOf(await client.callTool(call('echo', { message: `m${i}` }))));
    assert.deepEqual(texts, ['no', 'yes', 'Echo: m2', 'Echo: m3']);
    assert.deepEqual([0, 1, 2, 3].map((i) => executions(ledger, 'echo', `m${i}`)), [0, 1, 1, 1]);
  });

  await test(`${kind}: the schema of a tool drifts between lists, in the stand-in and in the proxy`, async (context) => {
    const script = writeFile(scratch(context.defer), 'script', 'tools/list none\ntools/list drift\n');
    for (const command of [
      chaos('--stdio', '--script', script),
      chaos('--script', script, '--', binary, 'chaos', '--stdio'),
    ]) {
      const client = await connectTo(kind, command, context);
      const schemas = [];
      for (let i = 0; i < 3; i++) schemas.push((await client.listTools()).tools[0].inputSchema);
      assert.equal(schemas[0].properties.drift_1, undefined);
      assert.deepEqual(schemas[1].required, ['drift_1']);
      assert.deepEqual(schemas[1].properties.drift_1, { type: 'string' });
      assert.deepEqual(schemas[2], schemas[1]);
    }
  });
}

// Starts a proxy that listens on HTTP and connects to it.
async function connectThrough(kind, args, context) {
  const child = spawn(binary, ['chaos', '--http', '0', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.defer(() => (child.kill(), ended(child)));
  const [, port] = await collect(child.stdout).until(/^(\d+)\n/);
  return connectHttp(kind, new URL(`http://127.0.0.1:${port}/mcp`), context);
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

// A real server over HTTP, once it listens.
async function startEverything({ defer }) {
  const port = await freePort();
  const [main] = servers('.').everything.settings.args;
  const child = spawn(node, [main, 'streamableHttp'], { env: { ...process.env, PORT: `${port}` }, stdio: ['ignore', 'ignore', 'pipe'] });
  defer(() => (child.kill(), ended(child)));
  await collect(child.stderr).until(/listening/i);
  return `http://localhost:${port}/mcp`;
}

for (const kind of ['sdk 1', 'sdk 2', 'sdk 2 auto']) {
  for (const back of ['a real server over HTTP', 'a real child']) {
    await test(`${kind}: the proxy on HTTP breaks calls of ${back} and passes the rest`, async (context) => {
      const dir = scratch(context.defer);
      const { everything } = servers(dir);
      const ledger = path.join(dir, 'ledger');
      const script = writeFile(dir, 'script', 'tools/call noexec+iserror:no\ntools/call exec+rpc:-32000\ntools/call sse\n');
      const command = ['--', everything.settings.command, ...everything.settings.args];
      const where = back === 'a real child' ? command : ['--url', await startEverything(context)];
      const args = ['--script', script, '--ledger', ledger, '--key', 'message', ...where];
      const client = await connectThrough(kind, args, context);
      assert.ok((await client.listTools()).tools.length >= 10);
      const echo = (message) => client.callTool(call('echo', { message }));
      assert.equal(textOf(await echo('m0')), 'no');
      await assert.rejects(echo('m1'), /made to fail/);
      assert.equal(textOf(await echo('m2')), 'Echo: m2');
      assert.equal(textOf(await echo('m3')), 'Echo: m3');
      assert.deepEqual([0, 1, 2, 3].map((i) => executions(ledger, 'echo', `m${i}`)), [0, 1, 1, 1]);
      const steps = [];
      const long = call('trigger-long-running-operation', { duration: 0.2, steps: 2 });
      const options = { onprogress: ({ progress }) => steps.push(progress) };
      await (kind === 'sdk 1' ? client.callTool(long, undefined, options) : client.callTool(long, options));
      assert.deepEqual(steps, [1, 2]);
    });
  }
}

await test('sdk 2 pinned: the proxies speak the modern era where their server does', async (context) => {
  const standin = spawn(binary, ['chaos', '--http', '0', '--era', 'modern'], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.defer(() => (standin.kill(), ended(standin)));
  const [, port] = await collect(standin.stdout).until(/^(\d+)\n/);
  const child = ['--', binary, 'chaos', '--stdio', '--era', 'modern'];
  for (const back of [['--url', `http://127.0.0.1:${port}/mcp`], child]) {
    const script = writeFile(scratch(context.defer), 'script', 'tools/call iserror:boom\n');
    const client = await connectThrough('sdk 2 pinned', ['--script', script, ...back], context);
    assert.equal(textOf(await client.callTool(call('read', { key: 'a' }))), 'boom');
    assert.match(textOf(await client.callTool(call('read', { key: 'a' }))), /^read a #\d+$/);
  }
});

await test('the stand-in of a configuration knows keys in an argument, in _meta and in a header, and tells what ran', async (context) => {
  const config = writeFile(
    scratch(context.defer),
    'chaos.yaml',
    `http: 0
tools:
  pay: { idempotencyKey: { argument: token, ttl: 24h } }
  book: { idempotencyKey: { meta: example/token, ttl: 24h } }
  ship: { idempotencyKey: { header: Idempotency-Key, ttl: 24h } }
  brief: { idempotencyKey: { argument: token, ttl: 1ms } }
  paid: { tells: pay }
`,
  );
  const headers = { 'Idempotency-Key': 'h1' };
  const child = spawn(binary, ['chaos', '--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.defer(() => (child.kill(), ended(child)));
  const [, port] = await collect(child.stdout).until(/^(\d+)\n/);
  const client = await connectHttp('sdk 1', new URL(`http://127.0.0.1:${port}/mcp`), { ...context, headers });
  const number = async (request) => Number(/#(\d+)/.exec(textOf(await client.callTool(request)))[1]);
  assert.deepEqual((await client.callTool(call('paid', { token: 'a' }))).structuredContent, { happened: false, count: 0 });
  const first = await number(call('pay', { token: 'a' }));
  assert.equal(await number(call('pay', { token: 'a' })), first);
  assert.notEqual(await number(call('pay', { token: 'b' })), first);
  assert.deepEqual((await client.callTool(call('paid', { token: 'a' }))).structuredContent, { happened: true, count: 1 });
  const book = (token) => ({ ...call('book'), _meta: { 'example/token': token } });
  assert.equal(await number(book('x')), await number(book('x')));
  assert.notEqual(await number(book('x')), await number(book('y')));
  assert.equal(await number(call('ship')), await number(call('ship')));
  const brief = await number(call('brief', { token: 'a' }));
  let later = brief;
  while (later === brief) later = await number(call('brief', { token: 'a' })); // until it is forgotten
  await assert.rejects(client.callTool(call('pay', { token: 'a', more: 1 })), /other arguments/);
});

await test('through wrap, calls of a read-only tool survive what chaos does to them', async (context) => {
  const faults = '--fault=rpc:-32603=15%,exec+rpc:-32000=10%,delay:5=10%';
  const client = await connectStdio('sdk 2', chaos('--stdio', faults, '--seed', '3'), context);
  let attempts = 0;
  for (let i = 0; i < 25; i++) {
    const result = await client.callTool(call('read', { key: `k${i}` }));
    assert.equal(result.isError ?? false, false, textOf(result));
    attempts += outcomeOf(result).attempts;
  }
  assert.ok(attempts > 25, `${attempts} attempts: nothing was broken`);
});

await test('through wrap, an unsafe tool whose answer is lost is told as maybe executed, and ran once', async (context) => {
  const dir = scratch(context.defer);
  const ledger = path.join(dir, 'ledger');
  const script = writeFile(dir, 'script', 'tools/call execdrop\n');
  const client = await connectStdio('sdk 2', chaos('--stdio', '--script', script, '--ledger', ledger), context);
  const result = await client.callTool(call('charge', { key: 'c' }));
  assert.equal(result.isError, true);
  assert.equal(outcomeOf(result).executed, 'maybe');
  assert.equal(executions(ledger, 'charge', 'c'), 1);
});

await test('a proxy ends with its server, and a server with its proxy', async (context) => {
  const run = (args, input) => spawnSync(binary, ['chaos', ...args], { input, timeout: 10000, encoding: 'utf8' });
  assert.equal(run(['--', 'sh', '-c', 'cat >/dev/null; exit 7'], '').status, 7);
  assert.equal(run(['--', 'sh', '-c', 'kill -9 $$'], '').status, 137);
  const missing = run(['--', '/no/such/server'], '');
  assert.equal(missing.status, 3);
  assert.match(missing.stderr, /cannot start '\/no\/such\/server': no such file/);
  const dir = scratch(context.defer);
  const script = writeFile(dir, 'script', 'tools/call kill\n');
  const pidFile = path.join(dir, 'pid');
  const request = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}\n';
  const child = spawn(binary, ['chaos', '--script', script, '--', 'sh', '-c', `echo $$ > ${pidFile}; echo up; exec sleep 60`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await collect(child.stdout).until(/up/);
  child.stdin.write(request);
  assert.equal(await ended(child), 'SIGKILL');
  const gone = () => {
    try {
      process.kill(Number(fs.readFileSync(pidFile, 'utf8')), 0);
      return /State:\s+Z/.test(fs.readFileSync(`/proc/${fs.readFileSync(pidFile, 'utf8').trim()}/status`, 'utf8'));
    } catch {
      return true;
    }
  };
  for (const end = Date.now() + 10000; !gone() && Date.now() < end; ) await new Promise(setImmediate); // a kill takes its time
  assert.ok(gone(), 'the server outlived its proxy');
});

await test('mistakes are told, with what was probably meant', async (context) => {
  const config = writeFile(scratch(context.defer), 'chaos.yaml', 'stdio: true\nfaluts: {}\nera: lagacy\nfaults: { rset: 1 }\ntools: { charge: { tellz: x },\n  pay: { idempotencyKey: { argumnt: x } } }\n');
  const rows = [
    [['--stido'], /unknown option '--stido'; did you mean '--stdio'\?/],
    [['--stdio', '--fault', 'reest=1'], /--fault: unknown fault 'reest'; did you mean 'reset'\?/],
    [['--stdio', '--script', '/no/such'], /--script: cannot open '\/no\/such'/],
    [['--stdio', '--http', '0'], /exclude each other/],
    [['--url', 'http://127.0.0.1:1/mcp'], /'--url' needs '--http PORT'/],
    [['--http', '0', '--url', 'https://x/mcp'], /takes http:\/\/HOST/],
    [['--http', '0', '--url', 'http://x/mcp', '--', 'x'], /exclude each other/],
    [['--config', config], /:5:20: error: unknown key 'tellz'; did you mean 'tells'\?/],
    [['--config', config], /:6:28: error: unknown key 'argumnt'; did you mean 'argument'\?/],
    [['--config', config], /'idempotencyKey' needs one of argument, meta and header, and a ttl/],
    [['--config', config], /:2:1: error: unknown key 'faluts'; did you mean 'faults'\?/],
    [['--config', config], /:3:1: error: .*not 'lagacy'; did you mean 'legacy'\?/],
    [['--config', config], /:4:11: error: unknown fault 'rset'; did you mean 'reset'\?/],
  ];
  for (const [args, text] of rows) {
    const { status, stderr } = spawnSync(binary, ['chaos', ...args], { input: '', timeout: 10000, encoding: 'utf8' });
    assert.equal(status, 2, `${args}: ${stderr}`);
    assert.match(stderr, text);
  }
});
await test('standard input and output may be files, nothing, or not there', async ({ defer }) => {
  const dir = scratch(defer);
  const input = writeFile(dir, 'in', '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.repeat(5000));
  const sh = (line) => spawnSync('sh', ['-c', `exec "$0" chaos --stdio ${line}`, binary], { cwd: dir, encoding: 'utf8' });
  const pongs = (text) => text.split('\n').filter((line) => line === '{"jsonrpc":"2.0","id":1,"result":{}}').length;
  assert.equal(pongs(sh(`< ${input}`).stdout), 5000);
  assert.equal(sh(`< ${input} > out`).status, 0);
  assert.equal(pongs(fs.readFileSync(path.join(dir, 'out'), 'utf8')), 5000);
  assert.equal(sh(`-- cat < ${input}`).stdout, fs.readFileSync(input, 'utf8'));
  for (const line of ['< /dev/null', '< /dev/null > /dev/null', '<&-', '>&-', '<&- >&- 2>&-']) assert.equal(sh(line).status, 0, line);
  const { status, stderr } = sh('< .');
  assert.equal(status, 3);
  assert.match(stderr, /standard input and output: invalid argument/);
});

done();
